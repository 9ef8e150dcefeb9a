"""The folder SHARED follows the database: after every change, after a crash anywhere, and as the public sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.config_loader import ConfigLoader
from league_sdk.repositories import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)
from matches.league import freeze, notices, opening
from matches.league.corrections import applying
from matches.models import League
from matches.papers.shared import leagues
from matches.papers.shared.projection import Interrupted, Projection
from matches.papers.shared.tree import Tree
from matches.view import queries, sight
from tests import factories as make
from tests import rich
from tests.matches.correcting import make_correction
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "SHARED"


def projection(root: Path, **options: Any) -> Projection:
    """A projection as in a process that has just started."""
    return Projection(Tree(root, **options))


def content(root: Path) -> dict[str, bytes]:
    """Every file by its path, but the record of how far they are written."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(files)}


def entries(root: Path, path: str) -> list[dict[str, Any]]:
    """The lines of a log."""
    return [json.loads(line) for line in (root / "logs" / path).read_text(encoding="utf-8").splitlines()]


def seqs(root: Path, league_id: str = "fall") -> list[int]:
    """The numbers of the events in a league's log."""
    return [line["details"]["seq"] for line in entries(root, f"league/{league_id}/league.log.jsonl")]


def assert_like_new(root: Path) -> None:
    """The files are those that writing everything again gives."""
    fresh = root.with_name("fresh")
    projection(fresh).rebuild()
    assert content(root) == content(fresh)


def report_with_transcript(made: make.MadeLeague, match_id: str, winner: int = 0) -> None:
    """Report a match with two messages."""
    match = made.match(match_id)
    codes = match.player_ids
    lines = [
        make.entry(0, sender="REF01", recipient=codes[0]),
        make.entry(1, sender=codes[0], recipient="REF01", message_type="GAME_JOIN_ACK"),
    ]
    make.report(match, codes[winner], transcript=lines)


# Contents --------------------------------------------------------------------------------------


def test_the_repositories_read_every_file(root: Path) -> None:
    rich.over()
    projection(root).update()
    data, view = root / "data", sight.public(League.objects.get())
    standings = StandingsRepository("fall", data).load()
    assert standings["standings"] == queries.standings_rows(view)
    assert (standings["version"], standings["rounds_completed"]) == (view.moment.seq, 3)
    first = RoundsRepository("fall", data).get_round(1)
    assert first is not None and [one["match_id"] for one in first["matches"]] == ["R1M1", "R1M2"]
    matches = MatchRepository("fall", data)
    assert matches.list_matches() == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    match = matches.load("R1M1")
    assert (match["result"]["status"], len(match["transcript"]), match["lifecycle"]["state"]) == ("DRAW", 2, "FINISHED")
    history = PlayerHistoryRepository("P02", data).load()
    row = next(row for row in standings["standings"] if row["player_id"] == "P02")
    assert history["stats"] == {name: row[name] for name in ("wins", "losses", "draws")} | {"total_matches": 3}
    assert {one["league_id"] for one in history["matches"]} == {"fall"}

    loader = ConfigLoader(root / "config")
    assert loader.load_league("fall").status == "COMPLETED"
    assert loader.load_system().default_league_id == settings.LEAGUE_DEFAULT_ID
    assert loader.get_player_by_id("P02").preferred_leagues == ["fall"]
    assert loader.get_referee_by_id("REF01").display_name == "Referee 1"
    assert loader.get_game("even_odd").rules_module == "league_sdk.rules.even_odd"
    assert loader.load_defaults("player")["move_timeout_sec"] == 30
    assert loader.load_defaults("referee")["max_retries"] == 3


def test_every_json_file_has_a_version_and_a_time(root: Path) -> None:
    rich.over()
    projection(root).update()
    files = [json.loads(text) for path, text in content(root).items() if path.endswith(".json")]
    assert len(files) > 15
    assert {one["schema_version"] for one in files} == {"1.0.0"}
    assert all(one["last_updated"].endswith("Z") for one in files)


def test_logs_have_the_fields_and_levels_of_the_documents(root: Path) -> None:
    made = make.running_league(players=4)
    report_with_transcript(made, "R1M1")
    projection(root).update()
    player = made.match("R1M1").player_a.code
    sent, received = entries(root, f"agents/{player}.log.jsonl")[::-1]
    assert received == {
        "timestamp": "2025-01-15T10:15:00+00:00",
        "level": "DEBUG",
        "component": f"player:{player}",
        "agent_id": f"player:{player}",
        "event_type": "MESSAGE_RECEIVED",
        "message": "GAME_INVITATION",
        "message_type": "GAME_INVITATION",
        "sender": "referee:REF01",
        "recipient": f"player:{player}",
        "league_id": "fall",
        "details": {"match_id": "R1M1", "attempt": 1, "n": 0, "problem": ""},
    }
    assert (sent["event_type"], sent["message_type"]) == ("MESSAGE_SENT", "GAME_JOIN_ACK")
    assert [line["event_type"] for line in entries(root, "agents/REF01.log.jsonl")] == [
        "MESSAGE_SENT",
        "MESSAGE_RECEIVED",
    ]
    last = entries(root, "league/fall/league.log.jsonl")[-1]
    assert (last["component"], last["event_type"], last["level"]) == ("league_manager", "MATCH_FINISHED", "INFO")
    assert last["details"]["match_id"] == "R1M1"


@pytest.mark.parametrize("frozen", [False, True])
def test_nothing_secret_is_in_any_file(root: Path, frozen: bool) -> None:
    rich.over(frozen=frozen)
    projection(root).update()
    everything = b"\n".join(content(root).values()).decode() + (root / ".written.json").read_text()
    found = [secret for secret in rich.secrets() if secret in everything]
    assert found == []
    assert "tok_" not in everything.replace("tok_…", "")


def test_the_text_of_a_notice_is_not_in_a_log_that_cannot_be_changed(root: Path) -> None:
    make.open_league("fall")
    notice = notices.say(league_id="fall", text="We begin at six", by="ada")
    written = projection(root)
    written.update()
    assert b"at six" not in b"".join(content(root).values())
    notices.withdraw(league_id="fall", number=notice.pk)
    written.update()
    assert_like_new(root)


def test_the_demo_has_no_files(root: Path) -> None:
    opening.create_league(league_id="demo", display_name="Demo", demo=True)
    projection(root).update()
    assert not any("demo" in path for path in content(root))


# Following --------------------------------------------------------------------------------------


def test_a_match_has_a_file_when_it_has_a_result(root: Path) -> None:
    made = make.running_league(players=4)
    written = projection(root)
    written.update()
    matches = MatchRepository("fall", root / "data")
    assert matches.list_matches() == []
    report_with_transcript(made, "R1M2")
    written.update()
    assert matches.list_matches() == ["R1M2"]
    assert_like_new(root)


def test_after_every_step_the_files_are_as_if_written_anew(root: Path) -> None:
    written = projection(root)

    def step() -> None:
        written.update()
        assert_like_new(root)

    made = make.league(players=4)
    step()
    make.next_round(made)
    step()
    report_with_transcript(made, "R1M1")
    step()
    make_correction("points", player_id="P01", points=-2, reason="late", by="ada")
    make.finish_round(made)
    step()
    make_correction("void", match_id="R1M1", reason="wrong game", by="ada")
    step()
    applying.undo(league_id="fall", number=2, reason="it was right", by="ada")
    step()
    make.next_round(made)
    report_with_transcript(made, "R2M1", winner=1)
    step()
    assert seqs(root) == list(range(1, made.league.event_seq + 1))


def test_a_replayed_match_loses_its_file_until_it_is_played(root: Path) -> None:
    made = make.running_league(players=4)
    report_with_transcript(made, "R1M1")
    make.finish_round(made)
    written = projection(root)
    written.update()
    player = made.match("R1M1").player_a.code
    before = entries(root, f"agents/{player}.log.jsonl")
    make_correction("replay", match_id="R1M1", reason="the network was down", by="ada")
    written.update()
    assert MatchRepository("fall", root / "data").list_matches() == ["R1M2"]
    make.look()
    report_with_transcript(made, "R1M1", winner=1)
    written.update()
    after = entries(root, f"agents/{player}.log.jsonl")
    assert after[: len(before)] == before
    assert [line["details"]["attempt"] for line in after] == [1, 1, 2, 2]
    assert_like_new(root)


def test_without_a_change_nothing_is_written(root: Path) -> None:
    rich.over()
    written = projection(root)
    assert written.update()
    inodes = {path: path.stat().st_ino for path in root.rglob("*.json")}
    assert not written.update()
    assert not projection(root).update()
    assert {path: path.stat().st_ino for path in root.rglob("*.json")} == inodes


def test_without_a_change_a_pass_makes_one_query_for_any_number_of_leagues(root: Path) -> None:
    counts: list[int] = []
    written = projection(root)
    for league_ids in (["a"], ["b", "c", "d"]):
        for league_id in league_ids:
            make.open_league(league_id)
        written.update()
        with make.counting_queries(counts):
            written.update()
    assert counts == [1, 1]


def test_a_pass_makes_as_many_queries_for_two_new_results_as_for_one(root: Path) -> None:
    counts: list[int] = []
    written = projection(root)
    made = make.running_league(players=8)
    written.update()
    for match_ids in (["R1M1"], ["R1M2", "R1M3"]):
        for match_id in match_ids:
            report_with_transcript(made, match_id)
        with make.counting_queries(counts):
            written.update()
    assert counts[0] == counts[1]


# Frozen boards ----------------------------------------------------------------------------------


def test_files_do_not_change_during_a_freeze_and_follow_the_unveiling(root: Path) -> None:
    made = make.running_league(players=4)
    freeze.plan(league_id="fall", from_round=2)
    make.finish_round(made)
    written = projection(root)
    make.next_round(made)
    written.update()
    before, mark = content(root), (root / ".written.json").read_bytes()
    assert json.loads(before["data/leagues/fall/standings.json"])["frozen_after_round"] == 1
    for _ in range(2):
        make.finish_round(made)
        make_correction("points", player_id="P01", points=-1, reason="late", by="ada")
        if made.league.state == "RUNNING":
            make.next_round(made)
        assert not written.update()
        assert content(root) == before
        assert (root / ".written.json").read_bytes() == mark
        assert_like_new(root)
    assert made.league.state == "COMPLETED"

    freeze.unveil(league_id="fall")
    written.update()
    last = json.loads(content(root)["data/leagues/fall/standings.json"])["standings"][-1]
    assert last == queries.standings_rows(sight.public(made.league))[-1]
    assert content(root).keys() == before.keys()
    assert_like_new(root)

    freeze.lift(league_id="fall")
    written.update()
    assert len(MatchRepository("fall", root / "data").list_matches()) == 6
    assert seqs(root) == list(range(1, made.league.event_seq + 1))
    assert_like_new(root)


def test_a_match_played_again_behind_a_freeze_keeps_its_public_file(root: Path) -> None:
    made = make.running_league(players=4)
    freeze.plan(league_id="fall", from_round=2)
    report_with_transcript(made, "R1M1")
    make.finish_round(made)
    make.next_round(made)
    written = projection(root)
    written.update()
    before = content(root)
    make_correction("replay", match_id="R1M1", reason="the network was down", by="ada")
    make.look()
    report_with_transcript(made, "R1M1", winner=1)
    assert not written.update()
    assert content(root) == before
    assert_like_new(root)


# Several leagues --------------------------------------------------------------------------------


def test_an_id_of_two_leagues_has_one_file_whose_rows_name_the_league(root: Path) -> None:
    spring = make.running_league("spring", players=2)
    make.finish_round(spring)
    written = projection(root)
    written.update()
    make.open_league("fall")
    for number in (1, 2):
        make.player(f"Fall {number}", "fall", port=8200 + number)
    fall = make.MadeLeague("fall", [], spring.referees)
    make.next_round(fall)
    make.finish_round(fall, winner=1)
    written.update()
    history = PlayerHistoryRepository("P01", root / "data").load()
    assert [(row["league_id"], row["match_id"]) for row in history["matches"]] == [("spring", "R1M1"), ("fall", "R1M1")]
    assert history["stats"]["total_matches"] == 2
    assert [(one["league_id"], one["display_name"], one["stats"]["total_matches"]) for one in history["leagues"]] == [
        ("spring", "Player 1", 1),
        ("fall", "Fall 1", 1),
    ]
    assert_like_new(root)


def test_the_files_of_a_deleted_league_are_deleted(root: Path) -> None:
    rich.over()
    make.open_league("spring")
    written = projection(root)
    written.update()
    Agent.objects.filter(league="fall").delete()
    League.objects.filter(pk="fall").delete()
    written.update()
    assert not any("fall" in path or "P01" in path for path in content(root))
    assert_like_new(root)


def test_a_huge_league_has_a_table_and_no_matches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leagues, "MAX_MATCHES", 5)
    rich.over()
    projection(root).update()
    paths = content(root)
    assert {path for path in paths if path.startswith("data/")} == {"data/leagues/fall/standings.json"}
    assert {path for path in paths if path.startswith("logs/")} == {"logs/league/fall/league.log.jsonl"}


# Crashes ----------------------------------------------------------------------------------------


class Killed(BaseException):
    """Raised in place of the death of the process."""


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have the n-th change of a file raise :class:`Killed`; returns a function that ends this."""
    left = [step]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return real(*args, **kwargs)

        return change

    for name in ("put", "_write", "_save", "keep_only"):
        monkeypatch.setattr(Tree, name, counted(getattr(Tree, name)))
    return monkeypatch.undo


@pytest.mark.parametrize("step", sampled(range(1, 24, 2)))
def test_a_pass_that_was_killed_anywhere_is_made_again(root: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    made = make.running_league(players=4)
    projection(root).update()
    report_with_transcript(made, "R1M1")
    make.finish_round(made)
    restore = kill_at(step, monkeypatch)
    try:
        projection(root).update()
    except Killed:
        pass
    finally:
        restore()
    projection(root).update()
    assert seqs(root) == list(range(1, made.league.event_seq + 1))
    assert_like_new(root)


def test_half_a_line_at_the_end_of_a_log_is_cut_off(root: Path) -> None:
    made = make.running_league(players=4)
    projection(root).update()
    with (root / "logs/league/fall/league.log.jsonl").open("a") as log:
        log.write('{"half": ')
    make.finish_round(made)
    projection(root).update()
    assert_like_new(root)


@pytest.mark.parametrize("deleted", ["logs/league/fall/league.log.jsonl", ".written.json", "logs"])
def test_what_somebody_deleted_is_written_anew(root: Path, deleted: str) -> None:
    made = make.running_league(players=4)
    report_with_transcript(made, "R1M1")
    projection(root).update()
    path = root / deleted
    if path.is_dir():
        path.rename(root.with_name("gone"))
    else:
        path.unlink()
    make.finish_round(made)
    projection(root).update()
    assert_like_new(root)


@pytest.mark.parametrize(
    "mark",
    sampled(["", "[]", '{"format": 1}', "{}", '{"format": 1, "whole": true, "logs": {"../x": 1}}'], every=2),
)
def test_with_a_damaged_record_everything_is_written_anew(root: Path, mark: str) -> None:
    made = make.running_league(players=4)
    projection(root).update()
    (root / ".written.json").write_text(mark)
    make.finish_round(made)
    projection(root).update()
    assert_like_new(root)


def test_a_restored_backup_is_another_history(root: Path) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    projection(root).update()
    record = json.loads((root / ".written.json").read_text())
    fall = record["written"]["leagues"]["fall"]
    fall |= {"upto": fall["upto"] - 1, "head": "f" * 64}
    (root / ".written.json").write_text(json.dumps(record))
    projection(root).update()
    assert_like_new(root)


def test_a_process_that_ends_interrupts_a_pass(root: Path) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    written = projection(root)
    written.stop()
    with pytest.raises(Interrupted):
        written.update()
    projection(root).update()
    assert_like_new(root)


def test_a_rebuild_beside_a_running_site_is_noticed(root: Path) -> None:
    made = make.running_league(players=4)
    report_with_transcript(made, "R1M1")
    site = projection(root)
    site.update()
    projection(root).rebuild()
    make.finish_round(made)
    site.update()
    assert_like_new(root)


# Hostile ----------------------------------------------------------------------------------------


def test_messages_of_a_match_that_is_being_played_are_in_no_file(root: Path) -> None:
    made = make.running_league(players=4)
    match = made.match("R1M1")
    line = make.entry(0, sender=match.player_a.code, recipient="REF01", body={"parity_choice": "geheim"})
    assert make.progress(match, state="COLLECTING_CHOICES", locked_in=[match.player_a.code], transcript=(line,)) == "ok"
    assert match.messages.filter(entry__body__parity_choice="geheim").exists()
    report_with_transcript(made, "R1M2")
    projection(root).update()
    assert b"geheim" not in b"".join(content(root).values())
    assert f"logs/agents/{match.player_a.code}.log.jsonl" not in content(root)


@pytest.mark.parametrize(
    "named",
    [
        "../../evil",
        "player:../../evil",
        "player:P99",
        "",
        *(pytest.param(named, marks=pytest.mark.exhaustive) for named in ("referee:REF99", "evil", "a:b:c")),
    ],
)
def test_an_unknown_id_in_a_transcript_gets_no_file(root: Path, named: str) -> None:
    made = make.running_league(players=4)
    match = made.match("R1M1")
    lines = [make.entry(0, sender=named, recipient=named), make.entry(1, sender="REF01", recipient=match.player_a.code)]
    make.report(match, match.player_a.code, transcript=lines)
    projection(root).update()
    logs = [path for path in content(root) if path.startswith("logs/agents/")]
    assert logs == [f"logs/agents/{match.player_a.code}.log.jsonl", "logs/agents/REF01.log.jsonl"]
    assert [path.name for path in root.parent.iterdir()] == ["SHARED"]


def test_names_are_contents_and_never_paths(root: Path) -> None:
    opening.create_league(league_id="fall", display_name="../../evil\u202e<script>")
    make.player("../../evil", "fall")
    projection(root).update()
    assert ConfigLoader(root / "config").get_player_by_id("P01").display_name == "../../evil"
    assert not any("evil" in path for path in content(root))
    assert [path.name for path in root.parent.iterdir()] == ["SHARED"]


def test_two_writers_in_turn_leave_what_one_would_have_written(tmp_path: Path, root: Path) -> None:
    fall, spring = make.running_league("fall"), make.running_league("spring")
    host, sidecar = projection(root), projection(root)
    # Ids such as P01 occur in both leagues and have one history, so a writer must not trust what it knew of the other.
    host.update()
    make.finish_round(fall)
    sidecar.update()
    make.finish_round(spring)
    host.update()
    make.next_round(fall)
    make.finish_round(fall)
    sidecar.update()
    fresh = tmp_path / "fresh"
    projection(fresh).rebuild()

    def files(folder: Path) -> dict[str, bytes]:
        found = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
        # The logs of a writer that goes on are in the order in which things happened to be written.
        return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.suffix == ".json"}

    assert files(root) == files(fresh)
    assert len(json.loads(files(root)["data/players/P01/history.json"])["matches"]) == 3


def test_a_conductor_with_a_folder_of_its_own_brings_it_up_to_date_when_it_takes_over(root: Path) -> None:
    made, other = make.running_league(), root.with_name("other")
    projection(root).update()
    taking_over = projection(other)
    taking_over.update()
    make.finish_round(made)
    make.next_round(made)
    projection(root).update()
    # Nobody writes the other folder meanwhile: it stays as it was.
    assert content(other) != content(root)
    make.finish_round(made)
    taking_over.update()
    projection(root).update()
    assert content(other) == content(root)
    assert_like_new(other)


def test_a_league_leaves_the_folder_so_long_after_its_end(root: Path) -> None:
    for league_id in ("old", "fall"):
        made = make.running_league(league_id, players=2)
        report_with_transcript(made, "R1M1")
        make.look()
    League.objects.filter(pk="old").update(completed_at=timezone.now() - timedelta(days=30, seconds=1))
    League.objects.filter(pk="fall").update(completed_at=timezone.now() - timedelta(days=29))
    projection(root).update()
    assert any("old" in path for path in content(root))
    kept = Projection(Tree(root), timedelta(days=30))
    assert kept.update()
    assert not any("old" in path for path in content(root))
    assert seqs(root, "fall")
    assert not kept.update()
