"""Steering the screens: what is kept, what is refused, and that two clicks at once both count."""

from __future__ import annotations

import pytest

from matches.league import screens
from matches.league.errors import NotFound
from matches.view.screens import Steering, steering
from tests import factories as make
from tests.matches.races import Other, call_before

pytestmark = pytest.mark.django_db


def stored_steering(made: make.MadeLeague) -> Steering:
    return steering(made.league.screen)


def test_turns_are_counted_and_a_hold_stays_until_it_is_released() -> None:
    made = make.running_league(players=4)
    screens.turn(league_id="fall")
    screens.turn(league_id="fall")
    screens.turn(league_id="fall", scenes=-1)
    screens.hold(league_id="fall")
    screens.feature(league_id="fall", match_id="R1M2")
    assert stored_steering(made) == Steering(1, True, "R1M2")
    screens.hold(league_id="fall", held=False)
    assert stored_steering(made) == Steering(1, False, "R1M2")
    screens.automatic(league_id="fall")
    assert stored_steering(made) == Steering(1)
    assert "screen" not in " ".join(made.events())


@pytest.mark.django_db(transaction=True)
def test_of_two_turns_at_once_both_count(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.league(players=2)
    call_before(monkeypatch, screens, "_store", lambda: other.run(lambda: screens.turn(league_id="fall")))
    screens.turn(league_id="fall")
    assert other.wait() is None
    assert stored_steering(made) == Steering(2)


@pytest.mark.parametrize("match_id", ["R9M9", "", "R1M1\x00", "x" * 500])
def test_only_a_match_of_the_league_is_featured(match_id: str) -> None:
    made = make.running_league(players=4)
    with pytest.raises(NotFound):
        screens.feature(league_id="fall", match_id=match_id)
    assert stored_steering(made) == Steering()
    with pytest.raises(NotFound):
        screens.turn(league_id="none")
