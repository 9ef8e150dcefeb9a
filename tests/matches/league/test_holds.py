"""Held matches are tried again by themselves, and matches go on after the site was killed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.conducting import due
from matches.league import holds, lifecycle, losses
from matches.models import Event, Match
from tests import factories as make

pytestmark = pytest.mark.django_db


def league_with_held_match(lost_attempts: int = 3, **settings: float) -> make.MadeLeague:
    """A league whose R1M1 was held a moment ago and whose R1M2 is being played."""
    made = make.running_league(players=4, **settings)
    Match.objects.filter(match_id="R1M1").update(lost_attempts=lost_attempts - 1)
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M1"), why="no sign of life from the referee")
    return made


def retried_after(seconds: float) -> int:
    """Retry held matches as if this many seconds had passed; returns how many were retried."""
    return holds.retry_held(now=timezone.now() + timedelta(seconds=seconds))


def test_a_held_match_is_tried_again_by_itself_and_keeps_its_count() -> None:
    made = league_with_held_match()
    assert (retried_after(2.9), made.states()["R1M1"]) == (0, "HELD")
    assert (retried_after(3.1), retried_after(3.1)) == (1, 0)
    match = made.match("R1M1")
    assert (match.state, match.lost_attempts, match.held_at) == ("READY", 3, None)
    assert made.events()[-1] == "match_released"
    make.look()
    make.report(made.match("R1M1"), "P01")
    assert (made.states()["R1M1"], made.events().count("match_finished")) == ("FINISHED", 1)


def test_a_match_that_is_lost_again_waits_twice_as_long() -> None:
    assert [holds.backoff_s(lost) for lost in (3, 4, 5, 6, 40)] == [3, 6, 12, 24, 600]
    made = league_with_held_match(lost_attempts=4)
    assert (retried_after(5.9), retried_after(6.1)) == (0, 1)
    make.look()
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M1"), why="no sign of life from the referee")
    assert (made.states()["R1M1"], made.match("R1M1").lost_attempts) == ("HELD", 5)


def test_no_held_match_is_retried_while_attempts_are_being_lost() -> None:
    made = league_with_held_match()
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M2"), why="no sign of life from the referee")
    Event.objects.filter(kind="attempt_lost").update(at=timezone.now() + timedelta(seconds=5))
    assert (retried_after(7.9), made.states()["R1M1"]) == (0, "HELD")
    assert retried_after(8.1) == 1


def test_the_backoff_is_reset_if_an_unrelated_match_was_lost() -> None:
    made = league_with_held_match(lost_attempts=6)
    assert (retried_after(20), made.states()["R1M1"]) == (0, "HELD")
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M2"), why="no sign of life from the referee")
    # Both were lost at the same moment: R1M1 may have crashed the referee of R1M2.
    assert retried_after(20) == 0
    Event.objects.filter(data__match_id="R1M2", kind="attempt_lost").update(at=timezone.now() - timedelta(seconds=6))
    assert retried_after(20) == 1


def test_no_held_match_of_a_paused_league_is_retried() -> None:
    league_with_held_match()
    lifecycle.pause(league_id="fall")
    assert retried_after(10) == 0
    lifecycle.resume(league_id="fall")
    assert retried_after(10) == 1


def test_a_look_tries_a_match_again_that_was_held_long_ago() -> None:
    made = league_with_held_match()
    Event.objects.update(at=timezone.now() - timedelta(seconds=20))
    Match.objects.filter(state="HELD").update(held_at=timezone.now() - timedelta(seconds=20))
    assert due.look(busy_agents=(), draining=True).starts == []
    assert made.states()["R1M1"] == "HELD"
    # The referee gets matches only after a sign of life.
    registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
    assert [start.attempt for start in make.look().starts] == [2]


def test_matches_of_the_sites_own_referees_are_handed_back_when_the_site_starts_again() -> None:
    """However often the site is killed in the course of one match, the match is not held."""
    made = make.running_league(players=2, referees=1)
    for attempt in (1, 2, 3, 4):
        assert (made.match("R1M1").state, made.match("R1M1").attempt) == ("ASSIGNED", attempt)
        assert losses.expect_again(names=["Referee 1"]) == 1
        match = made.match("R1M1")
        assert (match.state, match.lost_attempts) == ("READY", 0)
        # No match is given to a referee that has not registered again.
        assert make.look().starts == []
        registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
        make.look()
    assert made.events().count("attempt_lost") == 4


def test_a_match_of_somebody_elses_referee_goes_on_when_the_site_starts_again() -> None:
    made = make.running_league(players=2, referees=1)
    assert losses.expect_again(names=["Referee 2"]) == 0
    assert made.states()["R1M1"] == "ASSIGNED"
    assert Agent.objects.get(name="Referee 1").state == "ACTIVE"


def test_a_clock_that_was_set_back_keeps_no_match_held() -> None:
    league_with_held_match()
    assert (retried_after(-2.9), retried_after(-3600)) == (0, 1)


def test_a_new_conductor_sends_starts_that_may_not_have_been_sent() -> None:
    """The conductor before may have been killed between assigning and sending; the referee must not lose the match."""
    made = make.running_league(players=4, referees=1)
    make.progress(made.match("R1M2"), state="WAITING_FOR_PLAYERS")
    assert due.look(busy_agents=(), draining=False).starts == []
    starts = due.look(busy_agents=(), draining=False, again=True).starts
    judge = made.referees[0].agent
    assert [(one.match_pk, one.attempt, one.endpoint) for one in starts] == [(made.match("R1M1").pk, 1, judge.endpoint)]
    assert made.states()["R1M1"] == "ASSIGNED"
    Agent.objects.update(sends_progress=False)
    # Not to a student's referee, which might play the match twice.
    assert due.look(busy_agents=(), draining=False, again=True).starts == []
