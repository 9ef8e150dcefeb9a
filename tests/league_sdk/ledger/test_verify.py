"""What verify finds in draws, seals and results, what it says on the command line, and hostile input."""

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
    """A result as the site writes it when all is well."""
    play, choices = changes.get("play", 1), CHOICES[game]
    number = draws.draw(
        SEED, league_id="fall", match_id="R1M1", play=play, choice_a=str(choices["P01"]), choice_b=str(choices["P02"])
    )
    total = number if game == "even_odd" else number + 7
    winner = "P01" if total % 2 == 0 else "P02"
    drawn = changes.pop("drawn_number", number)
    data: dict[str, Any] = {
        "match_id": "R1M1",
        "round_id": 1,
        "players": ["P01", "P02"],
        "status": "WIN",
        "winner_id": winner,
        "reason": "as it came",
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
    """A ledger of one match with these events after the round's start; the table is that of the last result."""
    start: dict[str, Any] = {"round_id": 1, "draw_commitments": {"R1M1": commitment or draws.commitment(SEED)}}
    names = {"P01": "Ada", "P02": "Bob"}
    told = [
        ("schedule_made", {"players": 2, "rounds": 1, "names": names, "scoring": SCORING, "game_type": game}),
        ("round_started", start),
        *(("corrected" if "number" in one else "match_finished", one) for one in results),
    ]
    head, events = "", []
    for seq, (kind, data) in enumerate(told, start=1):
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
def test_a_drawn_and_sealed_result_holds(game: str) -> None:
    found = verify(ledger(finished(game), game=game))
    assert (found.counted["draws"], found.counted["sealed"], found.points_in_chain) == (1, 1, True)


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
def test_what_does_not_follow_is_named(game: str, changes: dict[str, Any], problem: str) -> None:
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
def test_a_sealed_result_has_a_number_when_it_was_played_and_none_else(game: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Broken, match="a number and a result in play belong together") as broken:
        verify(ledger(finished(game, **changes), game=game))
    assert broken.value.seq == 3
    lost = {"drawn_number": None, "status": "TECHNICAL_LOSS"}
    assert verify(_lost(ledger(finished(game, **lost), game=game))).counted["unproven draws"] == 0


def _lost(found: dict[str, Any]) -> dict[str, Any]:
    loser = found["table"][1]
    loser["technical_losses"] = 1
    return found


def test_a_result_whose_seal_was_taken_off_must_still_follow_from_its_seed() -> None:
    """No foreign referee has a seed: a number beside one is ours."""
    with pytest.raises(Broken, match="the number does not follow"):
        verify(ledger(finished("even_odd", drawn_number=11, seal_sha256="")))
    hidden = verify(ledger(finished("even_odd", drawn_number=None, seal_sha256="", draw_seed="")))
    assert (hidden.counted["draws"], hidden.counted["unproven draws"]) == (0, 1)


def test_results_are_not_undone_by_a_league_that_begins_again() -> None:
    """The demo does, but then its chain begins anew."""
    found = ledger(finished("even_odd"))
    afresh = link("", "0" * 32, league_id="fall", seq=4, kind="demo_afresh", at=AT, data={})
    found = chained(found, [*found["events"], afresh._asdict()])
    table = [row("P01", "Ada", 1, None), row("P02", "Bob", 2, None)]
    with pytest.raises(Broken, match="a league begins once") as broken:
        verify(found | {"table": table})
    assert broken.value.seq == 4


def chained(found: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    """The ledger with these events in place of its own, every digest made anew."""
    head, made = "", []
    for one in events:
        head = digest_of(head, one["public"], one["private_sha256"])
        made.append(one | {"digest": head})
    return found | {"events": made, "head": head}


def test_who_has_results_stands_in_the_table_of_an_older_league_too(tmp_path: Path, capsys: Any) -> None:
    """No event of an older league lists its players."""
    found = ledger(finished("even_odd"))
    start = link("", "0" * 32, league_id="fall", seq=1, kind="schedule_made", at=AT, data={"players": 2, "rounds": 1})
    older = chained(found, [start._asdict(), *found["events"][1:]])
    assert not verify(older).players_in_chain
    (tmp_path / "older.json").write_text(json.dumps(older))
    assert main(["verify", str(tmp_path / "older.json")]) == 0
    assert "who plays, and under which names" in capsys.readouterr().out
    with pytest.raises(Broken, match="an event has results or points of this player"):
        verify(older | {"table": [one | {"rank": 1} for one in older["table"] if one["rank"] == 1]})


def committed_again(**data: Any) -> dict[str, Any]:
    """A ledger in which the draw was committed to once more after the round's start, and has a result."""
    found = ledger(finished("even_odd", play=data.get("plays", {}).get("R1M1", 1)), commitment="c" * 64)
    *begun, result = found["events"]
    told = {"match_id": "R1M1", "draw_commitments": {"R1M1": draws.commitment(SEED)}} | data
    again = link("", "0" * 32, league_id="fall", seq=3, kind="draw_committed", at=AT, data=told)._asdict()
    return chained(found, [*begun, again, result | {"public": result["public"] | {"seq": 4}}])


@pytest.mark.parametrize("data", [{}, {"plays": {"R1M1": 1}}])
def test_a_commitment_is_not_replaced_by_one_that_was_made_with_the_choices_known(data: dict[str, Any]) -> None:
    with pytest.raises(Broken, match="a second commitment for one play") as broken:
        verify(committed_again(**data))
    assert broken.value.seq == 3


def test_a_commitment_that_came_late_is_told(tmp_path: Path, capsys: Any) -> None:
    """A restored site has lost the seeds of its open matches, and makes others: each is another play."""
    late = committed_again(plays={"R1M1": 2})
    assert verify(late).counted["late draws"] == verify(late).counted["draws"] == 1
    (tmp_path / "late.json").write_text(json.dumps(late))
    assert main(["verify", str(tmp_path / "late.json")]) == 0
    assert "1 of the drawn numbers were committed to only after their round had started" in capsys.readouterr().out


def test_a_second_result_needs_a_correction_and_a_commitment_of_its_own() -> None:
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


def test_what_older_events_do_not_say_is_no_error_but_is_told() -> None:
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
        (lambda one: one["table"][0].update(display_name="Mallory"), "its players are not those"),
        (lambda one: one["scoring"].update(win=2), "the points of the league"),
        (lambda one: one.update(game_type="tic_tac_toe"), "another game"),
        (lambda one: one.update(head="a" * 64), "the head after event 3"),
    ],
)
def test_what_stands_beside_the_events_follows_from_them(change: Any, problem: str) -> None:
    found = ledger(finished("even_odd"))
    change(found)
    with pytest.raises(Broken, match=problem):
        verify(found)


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
def test_hostile_documents_give_a_sentence(hostile: Any) -> None:
    with pytest.raises(NotALedger, match=r"\.$"):
        verify(hostile)


# The command -------------------------------------------------------------------------------------


def test_the_command_says_what_holds_and_what_is_not_proven(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "ledger.json"
    found = ledger(finished("even_odd"))
    file.write_text(json.dumps(found))
    assert main(["verify", str(file), "--head", found["events"][1]["digest"]]) == 0
    said = capsys.readouterr().out
    assert said.startswith("HOLDS: league fall, 3 events, the last is number 3.\n")
    assert "The head that you kept is that of event 2" in said
    assert "Not proven:" in said
    assert main(["verify", str(file), "--head", "b" * 64]) == 1
    assert "DOES NOT HOLD: the head that you kept" in capsys.readouterr().out
    found["events"][2]["public"]["data"]["winner_id"] = None
    file.write_text(json.dumps(found))
    assert main(["verify", str(file)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("DOES NOT HOLD: event 3 (match_finished, match R1M1): ")
    assert "Seen: " in said
    assert "Expected: " in said


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[" * 100_000, b'{"a": NaN}', b'"\\ud800"', b'{"format": "\\ud800"}']
)
def test_hostile_files_give_a_sentence(content: bytes, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    assert main(["verify", str(file)]) == 1
    assert capsys.readouterr().out.startswith("Not verified. ")
    assert main(["verify", str(tmp_path / "none")]) == 1
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(file), "--head", "abc"])
    assert stopped.value.code == 2


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Another reader of the same file might take the first where we take the last."""
    file = tmp_path / "ledger.json"
    file.write_text(
        json.dumps(ledger(finished("even_odd"))).replace('"winner_id": ', '"winner_id": "P09", "winner_id": ')
    )
    with pytest.raises(NotALedger, match="'winner_id' stands twice in one object"):
        reading.read(str(file))


def test_a_site_is_read_page_by_page_and_never_in_a_circle() -> None:
    whole = ledger(finished("even_odd"))
    asked: list[str] = []

    def fetch(url: str, most: int) -> bytes:
        asked.append(url)
        at = len(asked) - 1
        page = whole | {"events": whole["events"][at : at + 1], "next": at + 1 if at < 2 else None}
        return json.dumps(page).encode()

    assert reading.read("https://site/leagues/fall/matches/R1M1/", fetch=fetch) == whole
    assert asked == [
        "https://site/api/leagues/fall/ledger?limit=1000",
        "https://site/api/leagues/fall/ledger?limit=1000&after=1&upto=3",
        "https://site/api/leagues/fall/ledger?limit=1000&after=2&upto=3",
    ]
    circle = json.dumps(whole | {"next": 1}).encode()
    with pytest.raises(NotALedger, match="in a circle"):
        reading.read("https://site/leagues/fall/", fetch=lambda url, most: circle)
    with pytest.raises(NotALedger, match="names no league"):
        reading.read("https://site/", fetch=fetch)


@pytest.fixture
def site() -> Iterator[str]:
    """A site on this machine; what it answers goes by the league that is asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(ledger(finished("even_odd"))).encode() if "fall" in self.path else b'{"error": "none"}'
            self.send_response(200 if "fall" in self.path else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing of it is of interest."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_site_is_asked_over_the_network(site: str, tmp_path: Path, capsys: Any) -> None:
    kept = tmp_path / "kept.json"
    assert main(["verify", f"{site}/leagues/fall/", "--save", str(kept)]) == 0
    assert main(["verify", str(kept)]) == 0
    capsys.readouterr()
    assert main(["verify", f"{site}/leagues/spring/"]) == 1
    assert "answered 404" in capsys.readouterr().out
    assert main(["verify", "http://127.0.0.1:9/leagues/fall/"]) == 1
    assert capsys.readouterr().out.startswith("Not verified. http://127.0.0.1:9/api/leagues/fall/ledger")


def test_no_more_is_taken_than_is_allowed(site: str) -> None:
    with pytest.raises(NotALedger, match="sends more than"):
        reading._Fetch(lambda: 0.0).get(f"{site}/leagues/fall/", 100)
    clock = iter([0.0, 10.0**6])
    with pytest.raises(NotALedger, match="took longer than"):
        reading._Fetch(lambda: next(clock)).get(f"{site}/leagues/fall/", 10**6)
