"""Leagues that have changed are found by their rows, without a message."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import DatabaseError

from agents_registry.registering import registration
from matches.league import lifecycle, notices, results
from matches.live import changes as module
from matches.live.changes import Changes
from tests import factories as make
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db
LEAGUES = ("fall", "spring")


@pytest.fixture
def made() -> make.MadeLeague:
    return make.running_league(players=4)


@pytest.fixture
def changes(made: make.MadeLeague) -> Changes:
    make.open_league("spring")
    changes = Changes()
    # A process that asks for the first time has rendered nothing of the league, or something older.
    assert changes.since(LEAGUES) == {"fall": [], "spring": []}
    assert changes.since(LEAGUES) == {}
    return changes


def _report(made: make.MadeLeague) -> None:
    make.report(made.match("R1M2"), None)


def _cancel(made: make.MadeLeague) -> None:
    results.cancel(league_id="fall", match_id="R1M2", why="a test")


def _progress(made: make.MadeLeague) -> None:
    make.progress(made.match("R1M2"), joined=["P01"])


def _entry(made: make.MadeLeague) -> None:
    make.progress(made.match("R1M2"), state="ASSIGNED", transcript=[make.entry(1)])


def _pause(made: make.MadeLeague) -> None:
    lifecycle.pause(league_id="fall")


def _shut_down(made: make.MadeLeague) -> None:
    registration.retire(agent_ids=[made.players[0].agent.pk])


def _say(made: make.MadeLeague) -> None:
    notices.say(league_id="fall", text="ten minutes", by="ada")


def _correct(made: make.MadeLeague) -> None:
    make_correction("points", player_id="P01", points=1)


@pytest.mark.parametrize(
    ("change", "matches"),
    [
        (_report, ["R1M2"]),
        (_cancel, ["R1M2"]),
        (_progress, ["R1M2"]),
        (_entry, ["R1M2"]),
        (_pause, []),
        (_shut_down, []),
        (_correct, []),
        (_say, []),
    ],
)
def test_a_change_is_found_once(
    made: make.MadeLeague, changes: Changes, change: Callable[[make.MadeLeague], None], matches: list[str]
) -> None:
    change(made)
    assert changes.since(LEAGUES) == {"fall": matches}
    assert changes.since(LEAGUES) == {}


def test_a_league_that_was_not_read_the_last_time_counts_as_changed(made: make.MadeLeague, changes: Changes) -> None:
    assert changes.since(["spring", "gone"]) == {}
    assert changes.since(LEAGUES) == {"fall": []}


def test_a_finished_round_changes_the_whole_league(made: make.MadeLeague, changes: Changes) -> None:
    make.finish_round(made)
    assert changes.since(LEAGUES) == {"fall": []}


def test_a_withdrawn_notice_is_a_change(made: make.MadeLeague, changes: Changes) -> None:
    notice = notices.say(league_id="fall", text="ten minutes", by="ada")
    changes.since(LEAGUES)
    notices.withdraw(league_id="fall", number=notice.pk)
    assert changes.since(LEAGUES) == {"fall": []}


def test_a_change_is_found_by_the_next_call_after_a_database_error(
    monkeypatch: pytest.MonkeyPatch, made: make.MadeLeague, changes: Changes
) -> None:
    _cancel(made)

    def gone(*_: object) -> set[str]:
        raise DatabaseError("the database is gone")

    with monkeypatch.context() as patched:
        patched.setattr(module, "_matches_of_events", gone)
        with pytest.raises(DatabaseError):
            changes.since(LEAGUES)
    assert changes.since(LEAGUES) == {"fall": ["R1M2"]}


def test_the_list_of_leagues_changes_with_any_of_its_leagues(made: make.MadeLeague) -> None:
    changes = Changes()
    assert [changes.is_list_changed(), changes.is_list_changed()] == [True, False]
    make.open_league("winter")
    assert [changes.is_list_changed(), changes.is_list_changed()] == [True, False]
    _report(made)
    assert [changes.is_list_changed(), changes.is_list_changed()] == [True, False]
