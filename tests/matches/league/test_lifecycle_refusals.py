"""The reason why a start would be refused can be asked before the start, in the same words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents_registry.models import Agent
from matches.league import lifecycle, opening
from matches.league.errors import ActionRefused
from matches.models import League
from tests import factories as make

pytestmark = pytest.mark.django_db


def played() -> None:
    made = make.running_league(players=2)
    make.finish_round(made)
    League.objects.update(state="RUNNING")


def no_referee() -> None:
    make.league(players=2)
    Agent.objects.filter(kind="referee").update(trusted=False)


def nobody_ready() -> None:
    make.league(players=3)
    opening.edit_league(league_id="fall", display_name="Fall", settings={"require_check": True})


def paused() -> None:
    make.league(players=2)
    lifecycle.pause(league_id="fall")


def stopped() -> None:
    make.league(players=2)
    lifecycle.stop(league_id="fall")


REFUSED = [played, make.running_league, no_referee, nobody_ready, paused, stopped, make.open_league]


@pytest.mark.parametrize("arrange", REFUSED)
def test_the_refusal_is_the_same_before_and_at_the_start(arrange: Callable[[], object]) -> None:
    arrange()
    with pytest.raises(ActionRefused) as foreseen:
        lifecycle.refuse_start(League.objects.get(pk="fall"))
    with pytest.raises(ActionRefused) as refused:
        lifecycle.start_league(league_id="fall")
    assert str(foreseen.value) == str(refused.value)


def test_a_league_that_may_start_is_not_refused() -> None:
    make.league(players=2)
    lifecycle.refuse_start(League.objects.get(pk="fall"))
    assert lifecycle.start_league(league_id="fall").state == "RUNNING"
