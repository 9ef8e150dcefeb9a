"""What rows say of leagues that have changed, without a message."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents_registry import registration
from matches.changes import Changes
from matches.league import lifecycle, results
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
