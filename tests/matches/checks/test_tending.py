"""Checks that nobody has to ask for: those that a league demands, and those after a registration."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest

from agents_registry.models import Agent
from matches.checks import asking, runs, taking, tending
from matches.checks.runs import REGISTRATION
from matches.league import lifecycle
from matches.models import Check, League
from tests import factories as make
from tests.matches.checks.asks import INSTRUCTOR, LOCAL, after, ask, fill, run
from tests.matches.reports import clause

pytestmark = pytest.mark.django_db


def registered_at(member: make.RegisteredAgent) -> datetime:
    return member.agent.tokens.latest("pk").created_at


def tend(seconds: float, since: datetime) -> int:
    return tending.tend(now=since + timedelta(seconds=seconds))


def test_a_registration_is_checked_after_a_few_seconds_and_retried_with_backoff() -> None:
    make.open_league("fall", require_check=True)
    member = make.player("Ada", "fall", port=8101)
    begun = registered_at(member)
    assert tend(0, begun) == 1
    [check] = Check.objects.all()
    assert (check.asked_by, check.agent, check.due_at) == ("", member.agent, begun + timedelta(seconds=3))
    assert taking.take(now=begun + timedelta(seconds=2)) == []
    waits = []
    moment = begun + timedelta(seconds=3)
    for _ in range(5):
        assert tending.tend(now=moment) == 0
        run(check, passed=False, now=moment)
        assert tending.tend(now=moment) == 1
        check = Check.objects.get(state="WANTED")
        waits.append((check.due_at - moment).total_seconds())
        moment = check.due_at
    assert waits == [5, 10, 20, 40, 80]
    run(check, passed=True, now=moment)
    assert tending.tend(now=moment + timedelta(days=1)) == 0


def test_retries_stop_until_the_agent_registers_again() -> None:
    make.open_league("fall", require_check=True)
    member = make.player("Ada", "fall", port=8101)
    moment = registered_at(member)
    for _ in range(tending.MAX_ATTEMPTS):
        assert tending.tend(now=moment) == 1
        check = Check.objects.get(state="WANTED")
        moment = check.due_at
        Check.objects.filter(pk=check.pk).update(created_at=moment)
        run(check, passed=False, now=moment)
        backoff_s = (check.due_at - check.created_at).total_seconds()
        assert backoff_s <= tending.MAX_RETRY_BACKOFF_S
    assert backoff_s == tending.MAX_RETRY_BACKOFF_S
    assert tending.tend(now=moment + timedelta(days=1)) == 0
    member.agent.tokens.update(created_at=moment + timedelta(days=1))
    assert tending.tend(now=moment + timedelta(days=1)) == 1


@pytest.mark.parametrize("why", ["not demanded", "closed", "demo", "passed", "queued"])
def test_no_check_is_queued_when_none_is_due(why: str) -> None:
    demanded = {} if why == "not demanded" else {"require_check": True}
    make.open_league("fall", **demanded)
    member = make.player("Ada", "fall", port=8101)
    if why == "closed":
        League.objects.update(state="SCHEDULED")
    elif why == "demo":
        League.objects.update(demo=True)
    elif why == "passed":
        moment = registered_at(member) + timedelta(seconds=1)
        run(ask(now=moment), now=moment)
    elif why == "queued":
        ask(now=registered_at(member))
    assert tend(100, registered_at(member)) == 0


# After a registration ---------------------------------------------------------------------------


def check_after_registration(agent: Agent, seconds: float = 0) -> Check | None:
    """Queue the check of a registration that came this many seconds after ``NOW``; None if it starts none."""
    return tending.after_registration(agent=agent, now=after(seconds))


def player(port: int = 8101, league: str | None = "fall") -> Agent:
    return make.player("Ada", league, port=port).agent


def test_a_registration_asks_for_a_check_a_few_seconds_later() -> None:
    make.open_league("fall")
    check = check_after_registration(player())
    assert check is not None
    assert (check.asked_by, check.due_at, check.withheld) == (REGISTRATION, after(3), False)
    assert [job.asked_by for job in taking.take(now=after(3))] == [REGISTRATION]


def test_a_player_in_the_lobby_is_checked_too() -> None:
    assert check_after_registration(player(league=None)) is not None


@pytest.mark.parametrize("why", ["switched off", "closed", "demo", "demanded", "referee"])
def test_no_check_is_asked_for_where_none_is_wanted(why: str, settings: Any) -> None:
    make.open_league("fall", **({"require_check": True} if why == "demanded" else {}))
    agent = make.referee("Judge", port=8001).agent if why == "referee" else player()
    if why == "switched off":
        settings.LEAGUE_CHECK_ON_REGISTRATION = False
    elif why in ("closed", "demo"):
        League.objects.update(**({"state": "SCHEDULED"} if why == "closed" else {"demo": True}))
    assert check_after_registration(Agent.objects.get(pk=agent.pk)) is None
    assert not Check.objects.exists()


@pytest.mark.exhaustive
def test_a_thousand_registrations_of_one_agent_start_a_few_checks() -> None:
    make.open_league("fall")
    agent = player()
    for number in range(1000):
        check = check_after_registration(agent, number)
        if check is not None and check.due_at <= after(number) and check.state == "WANTED":
            run(check, now=after(number))
    assert Check.objects.count() <= tending.MAX_PER_HOUR
    times = list(Check.objects.order_by("due_at").values_list("due_at", flat=True))
    waits = [(later - earlier).total_seconds() for earlier, later in itertools.pairwise(times)]
    assert min(waits) >= tending.MIN_INTERVAL_S


def test_the_registrations_of_one_network_cannot_fill_the_queue() -> None:
    fill(tending.MAX_PER_PLACE_AND_HOUR - 2, "127.0.0.1", asked_by=REGISTRATION)
    make.open_league("fall")
    agents = [make.player(f"Agent {port}", "fall", port=port).agent for port in range(8101, 8104)]
    assert [check_after_registration(agent) is not None for agent in agents] == [True, True, False]


def test_two_automatic_checks_run_at_a_time_after_those_that_somebody_asked_for() -> None:
    make.open_league("fall")
    agents = [make.player(f"Agent {port}", "fall", port=port).agent for port in range(8101, 8106)]
    for agent in agents[:4]:
        check_after_registration(agent)
    check = ask(agents[4].endpoint, INSTRUCTOR, now=after(10))
    jobs = taking.take(now=after(10))
    assert jobs[0].check_id == check.pk
    assert [job.asked_by for job in jobs] == [runs.INSTRUCTOR, REGISTRATION, REGISTRATION]
    assert taking.take(now=after(10)) == []


def test_a_student_who_asks_gets_the_waiting_automatic_check_at_once() -> None:
    make.open_league("fall")
    agent = player()
    check = check_after_registration(agent)
    assert check is not None
    assert ask(agent.endpoint, LOCAL, now=after(1)).pk == check.pk
    check.refresh_from_db()
    assert (check.asked_by, check.due_at) == (LOCAL.ip, after(1))


def test_automatic_checks_leave_room_in_the_queue_for_checks_that_students_ask_for() -> None:
    fill(asking.MAX_QUEUED, "198.51.100.1", asked_by=REGISTRATION)
    make.open_league("fall")
    for port in (8101, 8102):
        check_after_registration(make.player(f"Agent {port}", "fall", port=port).agent)
    assert ask("http://127.0.0.1:8103/mcp", now=after(10)) is not None


def run_unanswered(check: Check, now: datetime) -> None:
    """Carry a check out in which nobody answers."""
    unreached = clause("http.reached", "fails", came=None, why="No connection.")
    run(check, passed=False, now=now, clauses=(unreached,))


def test_an_agent_that_does_not_answer_yet_is_tried_again_a_few_times() -> None:
    make.open_league("fall")
    check = check_after_registration(player())
    waits: list[float] = []
    while check is not None:
        moment = check.due_at
        run_unanswered(check, moment)
        tending.tend(now=moment)
        check = Check.objects.filter(state="WANTED").first()
        if check is not None:
            waits.append((check.due_at - moment).total_seconds())
    assert waits == [5, 10, 20]


def test_an_agent_that_answered_is_not_tried_again() -> None:
    make.open_league("fall")
    check = check_after_registration(player())
    assert check is not None
    run(check, passed=False, now=after(3))
    assert tending.tend(now=after(4)) == 0


def test_a_check_after_a_registration_gives_way_to_a_match() -> None:
    made = make.league(players=2)
    agent = Agent.objects.select_related("league").get(pk=made.players[0].agent.pk)
    check_after_registration(agent)
    jobs = taking.take(now=after(3))
    assert taking.overtaken(jobs) == set()
    lifecycle.start_league(league_id=made.league_id)
    assert taking.overtaken(jobs) == {job.check_id for job in jobs}


def test_a_network_that_asks_for_many_checks_waits_for_one_that_asks_for_one() -> None:
    """A machine with many slow agents does not keep the agent of another machine from being checked."""
    make.open_league("fall")
    greedy = [make.player(f"Agent {port}", "fall", port=port).agent for port in range(8101, 8105)]
    for agent in greedy:
        check_after_registration(agent)
    fresh = make.player("Fresh", "fall", port=8101).agent
    Agent.objects.filter(pk=fresh.pk).update(endpoint="http://127.0.0.9:8101/mcp", endpoint_key="127.0.0.9|8101/mcp?")
    check_after_registration(Agent.objects.select_related("league").get(pk=fresh.pk), 1)
    first = taking.take(now=after(10))[0]
    assert first.endpoint == "http://127.0.0.9:8101/mcp"


def test_an_agent_without_an_address_is_checked_too() -> None:
    make.open_league("fall")
    check = check_after_registration(make.player("Ada", "fall", delivery="poll").agent)
    assert check is not None
    assert [job.agent for job in taking.take(now=after(3))] == [check.agent_id]


@pytest.mark.parametrize("asked_by", ["", REGISTRATION])
def test_a_check_that_nobody_asked_for_ends_when_the_league_begins(asked_by: str) -> None:
    made = make.league(players=2)
    member = made.players[0]
    begun = registered_at(member)
    check = asking.queue_agent(member.agent, Check(asked_by=asked_by, due_at=after(0), created_at=begun))
    tend(1, begun)
    assert Check.objects.get(pk=check.pk).state == "WANTED"
    lifecycle.start_league(league_id="fall")
    assert tend(1, begun) == 0
    ended = Check.objects.get(pk=check.pk)
    assert (ended.state, ended.problem) == ("FAILED", "Its league has begun: ask for a check if you want one.")


def test_an_agent_that_did_not_answer_is_not_tried_again_once_its_league_has_begun() -> None:
    made = make.league(players=2)
    member = made.players[0]
    begun = registered_at(member)
    check = asking.queue_agent(member.agent, Check(asked_by=REGISTRATION, due_at=begun, created_at=begun))
    run(check, passed=False, now=begun)
    Agent.objects.filter(pk=member.agent.pk).update(problem="refused")
    lifecycle.start_league(league_id="fall")
    assert tend(10, begun) == 0
    League.objects.filter(pk="fall").update(state="REGISTRATION")
    assert tend(10, begun) == 1
