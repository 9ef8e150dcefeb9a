"""What rows say of leagues that have changed, without a message."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import DatabaseError

from agents_registry import registration
from matches.league import lifecycle, notices, results
from matches.live import changes as module
from matches.live.changes import Changes
from tests import factories as make
from tests.matches.correcting import do

pytestmark = pytest.mark.django_db
BOTH = ("fall", "spring")


@pytest.fixture
def place() -> make.Setting:
    return make.playing(players=4)


@pytest.fixture
def changes(place: make.Setting) -> Changes:
    make.open_league("spring")
    found = Changes()
    # Whoever asks for the first time has drawn nothing of it, or something older.
    assert found.since(BOTH) == {"fall": [], "spring": []}
    assert found.since(BOTH) == {}
    return found


def _report(place: make.Setting) -> None:
    make.report(place.match("R1M2"), None)


def _cancel(place: make.Setting) -> None:
    results.cancel(league_id="fall", match_id="R1M2", why="a test")


def _progress(place: make.Setting) -> None:
    make.progress(place.match("R1M2"), joined=["P01"])


def _entry(place: make.Setting) -> None:
    make.progress(place.match("R1M2"), state="ASSIGNED", transcript=[make.line(1)])


def _pause(place: make.Setting) -> None:
    lifecycle.pause(league_id="fall")


def _silence(place: make.Setting) -> None:
    registration.retire(agent_ids=[place.players[0].agent.pk])


def _say(place: make.Setting) -> None:
    notices.say(league_id="fall", text="ten minutes", by="ada")


def _correct(place: make.Setting) -> None:
    do("points", player_id="P01", points=1)


@pytest.mark.parametrize(
    ("change", "matches"),
    [
        (_report, ["R1M2"]),
        (_cancel, ["R1M2"]),
        (_progress, ["R1M2"]),
        (_entry, ["R1M2"]),
        (_pause, []),
        (_silence, []),
        (_correct, []),
        (_say, []),
    ],
)
def test_what_is_different_is_found_once(
    place: make.Setting, changes: Changes, change: Callable[[make.Setting], None], matches: list[str]
) -> None:
    change(place)
    assert changes.since(BOTH) == {"fall": matches}
    assert changes.since(BOTH) == {}


def test_a_league_that_nobody_looked_at_meanwhile_may_be_different(place: make.Setting, changes: Changes) -> None:
    assert changes.since(["spring", "gone"]) == {}
    assert changes.since(BOTH) == {"fall": []}


def test_a_round_that_moved_is_the_whole_leagues(place: make.Setting, changes: Changes) -> None:
    make.finish_round(place)
    assert changes.since(BOTH) == {"fall": []}


def test_an_announcement_that_is_taken_back_is_a_change(place: make.Setting, changes: Changes) -> None:
    said = notices.say(league_id="fall", text="ten minutes", by="ada")
    changes.since(BOTH)
    notices.withdraw(league_id="fall", number=said.pk)
    assert changes.since(BOTH) == {"fall": []}


def test_what_could_not_be_read_is_found_the_next_time(
    monkeypatch: pytest.MonkeyPatch, place: make.Setting, changes: Changes
) -> None:
    _cancel(place)

    def gone(*_: object) -> set[str]:
        raise DatabaseError("the database is gone")

    with monkeypatch.context() as patched:
        patched.setattr(module, "_of_events", gone)
        with pytest.raises(DatabaseError):
            changes.since(BOTH)
    assert changes.since(BOTH) == {"fall": ["R1M2"]}


def test_the_list_of_leagues_is_different_when_any_of_them_is(place: make.Setting) -> None:
    found = Changes()
    assert [found.in_list(), found.in_list()] == [True, False]
    make.open_league("winter")
    assert [found.in_list(), found.in_list()] == [True, False]
    _report(place)
    assert [found.in_list(), found.in_list()] == [True, False]
