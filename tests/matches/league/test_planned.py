"""A start that is planned: carried out once when it is due, called off, or refused with a reason on record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from matches.conducting import due
from matches.league import lifecycle, opening, planned
from matches.league.errors import ActionRefused, Invalid
from matches.models import League
from tests import factories as make
from tests.matches.races import call_before

pytestmark = pytest.mark.django_db
NOW = datetime(2025, 1, 15, 17, 0, tzinfo=UTC)
SIX = NOW + timedelta(hours=1)
LATE = "the site was not running at that time, or no referee was there in the ten minutes after it"


def plan(at: datetime = SIX, *, all_rounds: bool = False, league_id: str = "fall") -> None:
    planned.plan_start(league_id=league_id, at=at, all_rounds=all_rounds, now=NOW)


def row() -> tuple[Any, bool, str]:
    league = League.objects.get(pk="fall")
    return league.starts_at, league.starts_all, league.state


@pytest.mark.parametrize("all_rounds", [False, True])
def test_a_planned_start_is_carried_out_once_when_it_is_due(all_rounds: bool) -> None:
    made = make.league(players=4)
    plan(all_rounds=all_rounds)
    assert row() == (SIX, all_rounds, "REGISTRATION")
    assert planned.begin_due(SIX - timedelta(seconds=1)) == 0
    assert planned.begin_due(SIX) == 1
    assert row() == (None, False, "RUNNING")
    assert made.league.runs_all is all_rounds
    assert planned.begin_due(SIX) == 0
    assert made.events().count("round_started") == 1


def test_of_two_conductors_one_carries_out_a_planned_start(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.league(players=4)
    plan()
    # Another conductor carries the start out after this one has read the row.
    call_before(monkeypatch, planned.outbox, "referees_of", lambda: planned.begin_due(SIX))
    planned.begin_due(SIX)
    assert (made.events().count("round_started"), "start_failed" in made.events()) == (1, False)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        ("few", "Fall has 1 of at least 2 players: wait until more have registered."),
        ("late", LATE),
    ],
)  # fmt: skip
def test_a_refused_start_is_on_record_and_changes_nothing(spoil: str, why: str) -> None:
    made = make.league(players=1 if spoil == "few" else 4)
    plan()
    planned.begin_due(SIX + (planned.MAX_DELAY + timedelta(seconds=1) if spoil == "late" else timedelta()))
    assert row() == (None, False, "REGISTRATION")
    last = made.league.events.order_by("-seq").first()
    assert last is not None
    assert (last.kind, last.data) == ("start_failed", {"at": SIX.isoformat(), "why": why})
    assert planned.begin_due(SIX) == 0


def test_a_planned_start_waits_for_a_referee() -> None:
    """The first look of a site comes before its referees have registered."""
    made = make.league(players=4, referees=0)
    plan()
    for after in (timedelta(), planned.MAX_DELAY):
        planned.begin_due(SIX + after)
        assert row() == (SIX, False, "REGISTRATION")
    make.referee()
    planned.begin_due(SIX + planned.MAX_DELAY)
    assert (row(), made.events().count("start_failed")) == ((None, False, "RUNNING"), 0)


def test_a_planned_start_without_a_referee_fails_when_it_is_too_late() -> None:
    made = make.league(players=4, referees=0)
    plan()
    planned.begin_due(SIX + planned.MAX_DELAY + timedelta(seconds=1))
    assert (row(), made.events()[-1]) == ((None, False, "REGISTRATION"), "start_failed")
    # The site was running all the time: the reason must not say only that it was down.
    assert made.league.events.latest("seq").data["why"] == LATE


def test_a_start_by_hand_a_pause_and_a_stop_cancel_a_planned_start() -> None:
    make.league(players=4)
    plan()
    lifecycle.start_league(league_id="fall")
    assert row()[:2] == (None, False)
    plan(all_rounds=True)
    lifecycle.pause(league_id="fall")
    assert row()[:2] == (None, False)
    lifecycle.resume(league_id="fall")
    plan()
    lifecycle.stop(league_id="fall")
    assert row() == (None, False, "STOPPED")


def test_a_planned_start_is_replaced_and_cancelled() -> None:
    made = make.league(players=4)
    plan()
    plan(SIX + timedelta(hours=1), all_rounds=True)
    assert row()[:2] == (SIX + timedelta(hours=1), True)
    planned.call_off(league_id="fall")
    with pytest.raises(ActionRefused, match=r"No start of Fall is planned\."):
        planned.call_off(league_id="fall")
    assert made.events()[-3:] == ["start_planned", "start_planned", "start_called_off"]


@pytest.mark.parametrize("at", [NOW, NOW - timedelta(days=1), NOW + timedelta(days=400)])
def test_a_start_in_the_past_or_the_far_future_is_refused(at: datetime) -> None:
    make.league(players=4)
    with pytest.raises(Invalid) as refused:
        plan(at)
    assert (refused.value.field, row()[0]) == ("when", None)


def test_a_league_that_is_over_paused_or_the_demo_is_not_planned() -> None:
    make.league(players=4)
    opening.create_league(league_id="demo", display_name="Demo", demo=True)
    with pytest.raises(ActionRefused, match="starts by itself"):
        plan(league_id="demo")
    lifecycle.pause(league_id="fall")
    with pytest.raises(ActionRefused, match="paused"):
        plan()
    lifecycle.stop(league_id="fall")
    with pytest.raises(ActionRefused, match="over"):
        plan()


def test_a_draining_conductor_carries_out_no_planned_start() -> None:
    made = make.league(players=4)
    plan()
    League.objects.filter(pk="fall").update(starts_at=datetime.now(UTC) - timedelta(seconds=1))
    due.look(busy_agents=(), draining=True)
    assert made.league.state == "REGISTRATION"
    due.look(busy_agents=(), draining=False)
    assert made.league.state == "RUNNING"
