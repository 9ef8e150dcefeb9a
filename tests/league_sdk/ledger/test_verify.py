"""Verifying draws, seals, results and the table; the command line; and hostile input."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from league_sdk.cli import main
from league_sdk.ledger import reading
from league_sdk.ledger.canonical import sha256_of
from league_sdk.ledger.chain import Broken, digest_of, link
from league_sdk.ledger.verify import NotALedger, verify
from league_sdk.rules import draws

AT = datetime(2025, 1, 15, 10, 15, tzinfo=UTC)
SEED = bytes(range(32))
SCORING = {"win": 3, "draw": 1, "loss": 0, "technical_loss": 0}
CHOICES: dict[str, dict[str, Any]] = {
    "even_odd": {"P01": "even", "P02": "odd"},
    "even_odd_numbers": {"P01": 2, "P02": 5},
}


def finished(game: str, **changes: Any) -> dict[str, Any]:
    """The data of a result's event, as the site stores it: correct but for the changes."""
    play, choices = changes.get("play", 1), CHOICES[game]
    texts = (str(choices["P01"]), str(choices["P02"]))
    number = draws.CommittedDraw(SEED, "fall", "R1M1", play, texts).randint(1, 10)
    total = number if game == "even_odd" else number + 7
    winner = "P01" if total % 2 == 0 else "P02"
    drawn = changes.pop("drawn_number", number)
    data: dict[str, Any] = {
        "match_id": "R1M1",
        "round_id": 1,
        "players": ["P01", "P02"],
        "status": "WIN",
        "winner_id": winner,
        "reason": "a reason",
        "details": {"drawn_number": drawn, "choices": choices},
        "faults": [],
        "attempt": 2,
        "referee_id": "REF01",
        "play": play,
        "draw_seed": SEED.hex(),
        "sealed_attempt": 1,
    } | changes
    verdict = {"attempt": 1, "status": data["status"], "winner_player_id": data["winner_id"], "draw": drawn}
    return {"seal_sha256": sha256_of(verdict)} | data


def ledger(*results: dict[str, Any], game: str = "even_odd", commitment: str | None = None) -> dict[str, Any]:
    """A ledger of one match with these events after the start of the round; its table follows from the last result."""
    start: dict[str, Any] = {"round_id": 1, "draw_commitments": {"R1M1": commitment or draws.commitment(SEED)}}
    names = {"P01": "Ada", "P02": "Bob"}
    kinds_and_data = [
        ("schedule_made", {"players": 2, "rounds": 1, "names": names, "scoring": SCORING, "game_type": game}),
        ("round_started", start),
        *(("corrected" if "number" in one else "match_finished", one) for one in results),
    ]
    head, events = "", []
    for seq, (kind, data) in enumerate(kinds_and_data, start=1):
        one = link(head, f"{seq:032x}", league_id="fall", seq=seq, kind=kind, at=AT, data=data)
        head = one.digest
        events.append(one._asdict())
    winner = results[-1]["winner_id"] if results else None
    order = ["P02", "P01"] if winner == "P02" else ["P01", "P02"]
    return {
        "format": "leaguesite.ledger/1",
        "league_id": "fall",
        "display_name": "Fall",
        "game_type": game,
        "head": head,
        "last_seq": len(events),
        "events": events,
        "next": None,
        "scoring": dict(SCORING),
        "table": [row(code, names[code], rank, winner) for rank, code in enumerate(order, start=1)],
    }


def row(code: str, name: str, rank: int, winner: str | None) -> dict[str, Any]:
    won, played = int(code == winner), int(winner is not None)
    return {
        "rank": rank,
        "player_id": code,
        "display_name": name,
        "played": played,
        "wins": won,
        "draws": 0,
        "losses": played - won,
        "technical_losses": 0,
        "points": 3 * won,
    }


@pytest.mark.parametrize("game", ["even_odd", "even_odd_numbers"])
def test_verify_accepts_a_drawn_and_sealed_result(game: str) -> None:
    verified = verify(ledger(finished(game), game=game))
    assert (verified.counted["draws"], verified.counted["sealed"], verified.points_in_chain) == (1, 1, True)


@pytest.mark.parametrize("game", ["even_odd", "even_odd_numbers"])
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"draw_seed": "ff" * 32}, "the seed is not the one that was committed to"),
        ({"draw_seed": ""}, "the seed that was committed to is not shown"),
        ({"draw_seed": "xyz"}, "it cannot be read"),
        ({"play": 2}, "it is not that play of the match"),
        ({"drawn_number": 11}, "the number does not follow"),
        ({"status": "DRAW", "winner_id": None}, "the result does not follow"),
        ({"seal_sha256": "a" * 64}, "the result is not the verdict that was sealed"),
        ({"sealed_attempt": 2}, "the result is not the verdict that was sealed"),
        ({"players": ["P01"]}, "it cannot be read"),
        ({"round_id": "1"}, "it cannot be read"),
    ],
)
def test_verify_names_a_contradiction_in_a_result(game: str, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(Broken, match=problem) as broken:
        verify(ledger(finished(game, **changes), game=game))
    assert broken.value.seq == 3
    assert "event 3 (match_finished, match R1M1)" in str(broken.value)


@pytest.mark.parametrize("game", ["even_odd", "even_odd_numbers"])
@pytest.mark.parametrize(
    "changes",
    [
        {"drawn_number": None},
        {"drawn_number": None, "status": "DRAW", "winner_id": None},
        {"status": "TECHNICAL_LOSS", "winner_id": "P01"},
        {"status": "CANCELLED", "winner_id": None},
    ],
)
def test_verify_requires_a_number_exactly_for_results_that_were_played(game: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Broken, match="a number is drawn if, and only if, a match ends in a win or a draw") as broken:
        verify(ledger(finished(game, **changes), game=game))
    assert broken.value.seq == 3
    lost = ledger(finished(game, drawn_number=None, status="TECHNICAL_LOSS"), game=game)
    lost["table"][1]["technical_losses"] = 1
    assert verify(lost).counted["unproven draws"] == 0


def test_verify_checks_the_number_of_a_result_whose_seal_was_removed() -> None:
    """Students' referees never get a seed, so a number with a seed must come from a referee of the site."""
    with pytest.raises(Broken, match="the number does not follow"):
        verify(ledger(finished("even_odd", drawn_number=11, seal_sha256="")))
    hidden = verify(ledger(finished("even_odd", drawn_number=None, seal_sha256="", draw_seed="")))
    assert (hidden.counted["draws"], hidden.counted["unproven draws"]) == (0, 1)


def test_verify_refuses_a_league_that_starts_again_in_the_middle_of_its_chain() -> None:
    """The demo league starts again and again, but each time with a new chain."""
    document = ledger(finished("even_odd"))
    afresh = link("", "0" * 32, league_id="fall", seq=4, kind="demo_afresh", at=AT, data={})
    document = chained(document, [*document["events"], afresh._asdict()])
    table = [row("P01", "Ada", 1, None), row("P02", "Bob", 2, None)]
    with pytest.raises(Broken, match="a league begins once") as broken:
        verify(document | {"table": table})
    assert broken.value.seq == 4


def chained(found: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    """The ledger with other events and new digests."""
    head, made = "", []
    for one in events:
        head = digest_of(head, one["public"], one["private_sha256"])
        made.append(one | {"digest": head})
    return found | {"events": made, "head": head}


def test_verify_requires_players_with_results_in_the_table_of_an_older_league(tmp_path: Path, capsys: Any) -> None:
    """The events of an older league do not list its players."""
    document = ledger(finished("even_odd"))
    start = link("", "0" * 32, league_id="fall", seq=1, kind="schedule_made", at=AT, data={"players": 2, "rounds": 1})
    older = chained(document, [start._asdict(), *document["events"][1:]])
    assert not verify(older).players_in_chain
    (tmp_path / "older.json").write_text(json.dumps(older))
    assert main(["verify", str(tmp_path / "older.json")]) == 0
    assert "who plays, and under which names" in capsys.readouterr().out
    with pytest.raises(Broken, match="an event has results or points of this player"):
        verify(older | {"table": [one | {"rank": 1} for one in older["table"] if one["rank"] == 1]})


def committed_again(**data: Any) -> dict[str, Any]:
    """A ledger with a second commitment to the draw after the start of the round, and with a result."""
    document = ledger(finished("even_odd", play=data.get("plays", {}).get("R1M1", 1)), commitment="c" * 64)
    *begun, result = document["events"]
    fields = {"match_id": "R1M1", "draw_commitments": {"R1M1": draws.commitment(SEED)}} | data
    again = link("", "0" * 32, league_id="fall", seq=3, kind="draw_committed", at=AT, data=fields)._asdict()
    return chained(document, [*begun, again, result | {"public": result["public"] | {"seq": 4}}])


@pytest.mark.parametrize("data", [{}, {"plays": {"R1M1": 1}}])
def test_verify_refuses_a_second_commitment_for_the_same_play(data: dict[str, Any]) -> None:
    with pytest.raises(Broken, match="a second commitment for one play") as broken:
        verify(committed_again(**data))
    assert broken.value.seq == 3


def test_the_command_reports_a_commitment_made_after_the_start_of_the_round(tmp_path: Path, capsys: Any) -> None:
    """A restored site has lost the seeds of its open matches and makes new ones, each for another play."""
    late = committed_again(plays={"R1M1": 2})
    assert verify(late).counted["late draws"] == verify(late).counted["draws"] == 1
    (tmp_path / "late.json").write_text(json.dumps(late))
    assert main(["verify", str(tmp_path / "late.json")]) == 0
    assert "1 of the drawn numbers were committed to only after their round had started" in capsys.readouterr().out


def test_verify_requires_a_correction_before_a_second_result_of_a_match() -> None:
    with pytest.raises(Broken, match="no correction stands between"):
        verify(ledger(finished("even_odd"), finished("even_odd")))
    opened = {
        "number": 1,
        "kind": "replay",
        "results": {"R1M1": None},
        "draw_commitments": {"R1M1": draws.commitment(SEED)},
        "plays": {"R1M1": 2},
    }
    again = verify(ledger(finished("even_odd"), opened, finished("even_odd", play=2)))
    assert (again.counted["results"], again.counted["draws"]) == (2, 2)
    del opened["draw_commitments"]
    assert verify(ledger(finished("even_odd"), opened, finished("even_odd", play=2))).counted["unproven draws"] == 1


def test_verify_counts_facts_that_older_events_do_not_have() -> None:
    data = finished("even_odd", draw_seed="", seal_sha256="")
    for name in ("draw_seed", "seal_sha256", "sealed_attempt", "play"):
        del data[name]
    counted = verify(ledger(data)).counted
    assert (counted["unproven draws"], counted["unsealed"], counted["draws"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda one: one["table"][0].update(points=4), "the table, line 1, points"),
        (lambda one: one["table"].reverse(), "the table, line 1"),
        (lambda one: one["table"].pop(), "its players are not those that the schedule has"),
        (lambda one: one["scoring"].update(win=2), "the points of the league"),
        (lambda one: one.update(game_type="tic_tac_toe"), "another game"),
        (lambda one: one.update(head="a" * 64), "the head after event 3"),
    ],
)
def test_verify_compares_the_table_and_the_points_with_the_events(change: Any, problem: str) -> None:
    document = ledger(finished("even_odd"))
    change(document)
    with pytest.raises(Broken, match=problem):
        verify(document)


@pytest.mark.parametrize(
    "hostile",
    [
        None,
        [],
        {"format": "leaguesite.league/1"},
        ledger() | {"events": [1]},
        ledger() | {"events": [{"public": {"seq": 10**400}, "private_sha256": "a" * 64, "digest": "a" * 64}]},
        ledger() | {"next": 7},
        ledger() | {"table": None},
        ledger() | {"head": "a"},
    ],
)
def test_verify_refuses_malformed_documents_with_a_sentence(hostile: Any) -> None:
    with pytest.raises(NotALedger, match=r"\.$"):
        verify(hostile)


# The command -------------------------------------------------------------------------------------


def test_the_command_prints_what_is_verified_and_what_is_not_proven(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "ledger.json"
    document = ledger(finished("even_odd"))
    file.write_text(json.dumps(document))
    assert main(["verify", str(file), "--head", document["events"][1]["digest"]]) == 0
    output = capsys.readouterr().out
    assert output.startswith("HOLDS: league fall, 3 events, the last is number 3.\n")
    assert "The head that you kept is that of event 2" in output
    assert "Not proven:" in output
    assert main(["verify", str(file), "--head", "b" * 64]) == 1
    assert "DOES NOT HOLD: the head that you kept" in capsys.readouterr().out
    document["events"][2]["public"]["data"]["winner_id"] = None
    file.write_text(json.dumps(document))
    assert main(["verify", str(file)]) == 1
    output = capsys.readouterr().out
    assert output.startswith("DOES NOT HOLD: event 3 (match_finished, match R1M1): ")
    assert "Seen: " in output
    assert "Expected: " in output


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[" * 100_000, b'{"a": NaN}', b'"\\ud800"', b'{"format": "\\ud800"}']
)
def test_the_command_refuses_malformed_files_with_a_sentence(content: bytes, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    assert main(["verify", str(file)]) == 1
    assert capsys.readouterr().out.startswith("Not verified. ")
    assert main(["verify", str(tmp_path / "none")]) == 1
    assert main(["verify", str(file), "--head", "abc"]) == 2


def test_read_refuses_an_object_with_a_repeated_name(tmp_path: Path) -> None:
    """Another reader of the file might use the first of two values where ours uses the last."""
    file = tmp_path / "ledger.json"
    file.write_text(
        json.dumps(ledger(finished("even_odd"))).replace('"winner_id": ', '"winner_id": "P09", "winner_id": ')
    )
    with pytest.raises(NotALedger, match="'winner_id' stands twice in one object"):
        reading.read(str(file))


def test_read_fetches_all_pages_of_a_site_and_refuses_a_cycle_of_pages() -> None:
    whole = ledger(finished("even_odd"))
    urls: list[str] = []

    def fetch(url: str, max_bytes: int) -> bytes:
        urls.append(url)
        at = len(urls) - 1
        page = whole | {"events": whole["events"][at : at + 1], "next": at + 1 if at < 2 else None}
        return json.dumps(page).encode()

    assert reading.read("https://site/leagues/fall/matches/R1M1/", fetch=fetch) == whole
    assert urls == [
        "https://site/api/leagues/fall/ledger?limit=1000",
        "https://site/api/leagues/fall/ledger?limit=1000&after=1&upto=3",
        "https://site/api/leagues/fall/ledger?limit=1000&after=2&upto=3",
    ]
    circle = json.dumps(whole | {"next": 1}).encode()
    with pytest.raises(NotALedger, match="in a circle"):
        reading.read("https://site/leagues/fall/", fetch=lambda url, max_bytes: circle)
    with pytest.raises(NotALedger, match="names no league"):
        reading.read("https://site/", fetch=fetch)


@pytest.fixture
def site() -> Iterator[str]:
    """A local site that has the ledger of the league ``fall`` only."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hops = self.path.partition("/moved/")[2]
            if hops:
                self.send_response(302)
                self.send_header("Location", f"/moved/{hops[1:]}" if hops[1:] else "/leagues/fall/")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = json.dumps(ledger(finished("even_odd"))).encode() if "fall" in self.path else b'{"error": "none"}'
            self.send_response(200 if "fall" in self.path else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_command_reads_a_ledger_over_http(site: str, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "kept.json"
    assert main(["verify", f"{site}/leagues/fall/", "--save", str(file)]) == 0
    assert main(["verify", str(file)]) == 0
    capsys.readouterr()
    assert main(["verify", f"{site}/leagues/spring/"]) == 1
    assert "answered 404" in capsys.readouterr().out
    assert main(["verify", "http://127.0.0.1:9/leagues/fall/"]) == 1
    assert capsys.readouterr().out.startswith("Not verified. http://127.0.0.1:9/api/leagues/fall/ledger")


def test_fetching_stops_at_the_limits_of_size_and_time(site: str) -> None:
    with reading.make_client() as http:
        with pytest.raises(NotALedger, match="sends more than"):
            reading._Fetch(http, lambda: 0.0).get(f"{site}/leagues/fall/", 100)
        clock = iter([0.0, 10.0**6])
        with pytest.raises(NotALedger, match="took longer than"):
            reading._Fetch(http, lambda: next(clock)).get(f"{site}/leagues/fall/", 10**6)


def test_fetching_follows_a_few_redirects_and_no_proxy_of_the_environment(
    site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with reading.make_client() as http:
        fetch = reading._Fetch(http, lambda: 0.0)
        assert fetch.get(f"{site}/moved/12345", 10**6) == fetch.get(f"{site}/leagues/fall/", 10**6)
        with pytest.raises(NotALedger, match="answered 302"):
            fetch.get(f"{site}/moved/123456", 10**6)
