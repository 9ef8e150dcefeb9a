"""Several conductors divide the leagues, one takes over from another, and two at once start no match twice."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.models.functions import Now

from agents_registry.models import Agent
from matches.conducting import due
from matches.conducting.conductor import Conductor
from matches.conducting.sending import Patience
from matches.league import lifecycle, outbox
from matches.league.conductors import (
    FORGET_AFTER_S,
    JOINING_S,
    LEASE_S,
    READ_INTERVAL_S,
    SITE,
    Duty,
    Membership,
)
from matches.models import ConductorLease, Delivery, League, Match, Round
from tests import factories as make
from tests.matches.agent_server import Agents
from tests.matches.conducting.test_conductor import make_league, pending_deliveries

pytestmark = pytest.mark.django_db(transaction=True)
LONG_S = 60


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Run actions at the same time, each on its own thread and connection; returns their results."""
    ready = threading.Barrier(len(actions))

    def act(action: Callable[[], Any]) -> Any:
        ready.wait(LONG_S)
        try:
            return action()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(actions)) as threads:
        return list(threads.map(act, actions))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def runs_out(*members: Membership) -> None:
    """Set the end of their leases into the past, as when they have given no sign of life."""
    ConductorLease.objects.filter(pk__in=[one.name for one in members]).update(until=Now() - timedelta(seconds=1))


def three(clock: Clock) -> list[Membership]:
    """Three conductors that know of one another."""
    members = [Membership(alone=False, monotonic=clock) for _ in range(3)]
    for _ in range(2):
        for member in members:
            member.renew()
        clock.now += JOINING_S
    for member in members:
        member.renew()
    return members


def owners(members: list[Membership], league_id: str) -> list[str]:
    return [member.name for member in members if member.duty.has(league_id)]


LEAGUES = [f"league-{number}" for number in range(100)]


def test_each_league_belongs_to_one_of_those_that_are_there_and_so_does_the_site() -> None:
    members = three(Clock())
    assert {len(owners(members, league)) for league in [*LEAGUES, SITE]} == {1}
    shares = [sum(member.duty.has(league) for league in LEAGUES) for member in members]
    assert min(shares) > 10
    assert [member.duty.leads for member in members].count(True) == 1


def test_a_conductor_that_is_lost_leaves_only_its_own_leagues_to_others() -> None:
    clock = Clock()
    members = three(clock)
    before = {league: owners(members, league)[0] for league in LEAGUES}
    lost, *left = members
    runs_out(lost)
    clock.now += READ_INTERVAL_S
    for member in left:
        member.renew()
    after = {league: owners(left, league) for league in LEAGUES}
    assert all(len(one) == 1 for one in after.values())
    assert all(after[league] == [name] for league, name in before.items() if name != lost.name)
    # It wakes up: others have its leagues, so it does nothing until they all know that it is back.
    for _ in range(2):
        clock.now += LEASE_S / 2
        for member in left:
            member.renew()
    assert not any(lost.renew().has(league) for league in [*LEAGUES, SITE])
    for member in left:
        member.renew()
    clock.now += JOINING_S
    assert any(lost.renew().has(league) for league in LEAGUES)
    assert {league: owners(members, league)[0] for league in LEAGUES} == before


def test_a_conductor_that_comes_waits_until_the_others_know_of_it() -> None:
    clock = Clock()
    first, second = Membership(alone=False, monotonic=clock), Membership(alone=False, monotonic=clock)
    assert first.renew().is_whole
    assert not any(second.renew().has(league) for league in [*LEAGUES, SITE])
    clock.now += JOINING_S
    first.renew()
    second.renew()
    assert {len(owners([first, second], league)) for league in LEAGUES} == {1}
    second.leave()
    assert not second.duty.leads
    clock.now += READ_INTERVAL_S
    assert first.renew().is_whole


def test_the_only_conductor_of_a_site_does_not_wait_for_one_that_was_killed() -> None:
    killed, new = Membership(alone=False), Membership(alone=True)
    killed.renew()
    assert new.renew().is_whole
    assert list(ConductorLease.objects.values_list("pk", flat=True)) == [new.name]


def test_many_conductors_that_come_at_once_divide_the_leagues() -> None:
    clock = Clock()
    members = [Membership(alone=False, monotonic=clock) for _ in range(6)]
    at_once(*(member.renew for member in members))
    clock.now += JOINING_S
    at_once(*(member.renew for member in members))
    assert {len(owners(members, league)) for league in [*LEAGUES, SITE]} == {1}


def test_what_was_killed_long_ago_is_forgotten() -> None:
    old = ConductorLease.objects.create(pk="old", holder="gone:1", until=Now() - timedelta(seconds=FORGET_AFTER_S + 1))
    member = Membership(alone=False)
    assert member.renew().is_whole
    assert not ConductorLease.objects.filter(pk=old.pk).exists()


def test_a_look_does_what_is_its_conductors_and_leaves_the_rest() -> None:
    """Whoever leads assigns the matches of every league; rounds and messages are those of the leagues' conductors."""
    for number in range(6):
        make.league(f"of-{number}", players=2, announce_wait_s=0)
        lifecycle.start_league(league_id=f"of-{number}")
    Agent.objects.update(ping_wanted=True)
    pairs = ([Duty(one, (one, f"{one}'")), Duty(f"{one}'", (one, f"{one}'"))] for one in "abcdefgh")
    # The first league belongs to the one that does not lead.
    leads, follows = next(pair for pair in pairs if pair[0].leads and pair[1].has("of-0"))

    def look(duty: Duty) -> due.Plan:
        return due.look(busy_agents=(), draining=False, duty=duty)

    own = {league.pk for league in League.objects.all() if follows.has(league.pk)}
    assert own
    assert len(own) < 6
    plan = look(follows)
    sent = {parcel.about["league_id"] for parcels in plan.parcels.values() for parcel in parcels}
    assert (sent, plan.starts) == (own, [])
    assert not {ping.agent_pk for ping in plan.pings} - set(
        Agent.objects.filter(league__in=own).values_list("pk", flat=True)
    )
    assert set(Round.objects.filter(state="RUNNING").values_list("league_id", flat=True)) == own
    plan = look(leads)
    sent = {parcel.about["league_id"] for parcels in plan.parcels.values() for parcel in parcels}
    assert sent == {f"of-{number}" for number in range(6)} - own
    # The players of all leagues are the same two programs.
    assert {start.about["league_id"] for start in plan.starts} == {"of-0"}


def test_two_that_both_lead_assign_no_match_twice() -> None:
    """One was suspended and has not noticed yet that another one leads."""
    made = make.league(players=8, referees=2, announce_wait_s=0)
    lifecycle.start_league(league_id="fall")
    make.look()
    assert made.match("R1M1").state == "ASSIGNED"
    Match.objects.update(state="READY", attempt=0, referee=None)

    def look() -> due.Plan:
        return due.look(busy_agents=(), draining=False)

    plans = at_once(look, look)
    started = Counter((start.match_pk, start.attempt) for plan in plans for start in plan.starts)
    assert set(started.values()) == {1}
    assert len(started) == 4
    assert list(Match.objects.filter(round__number=1).values_list("attempt", flat=True)) == [1] * 4


def test_a_delivery_by_two_conductors_is_settled_once() -> None:
    make.league(players=2)
    lifecycle.start_league(league_id="fall")
    pks = list(Delivery.objects.values_list("pk", flat=True))

    def outcomes() -> list[tuple[str, str]]:
        return list(Delivery.objects.filter(pk__in=pks).order_by("pk").values_list("state", "problem"))

    at_once(
        lambda: outbox.settle([(pk, "") for pk in pks]),
        lambda: outbox.settle([(pk, "it did not answer") for pk in pks]),
    )
    first = outcomes()
    assert set(first) <= {("SETTLED", ""), ("FAILED", "it did not answer")}
    for later in ("", "it did not answer the second time"):
        outbox.settle([(pk, later) for pk in pks])
        assert outcomes() == first


class Watched(Conductor):
    """Wakes a waiting test after each look, also after one that did nothing."""

    def __init__(self, executor: Executor, agents: Agents) -> None:
        super().__init__(executor, patience=Patience(retry_s=0))
        self._agents = agents

    async def look(self) -> None:
        await super().look()
        self._agents.news.set()


@asynccontextmanager
async def running_conductor(agents: Agents) -> AsyncIterator[tuple[Conductor, asyncio.Task[None]]]:
    """Run one of several conductors."""
    with ThreadPoolExecutor(1) as thread:
        conductor = Watched(thread, agents)
        task = asyncio.create_task(conductor.run())
        try:
            yield conductor, task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_of_two_conductors_one_sends_and_the_other_takes_over(agents: Agents) -> None:
    league = await agents.in_db(lambda: make_league(agents))
    async with running_conductor(agents) as (first, first_task):
        await agents.until(lambda: first.leads)
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
        await agents.until_in_db(lambda: pending_deliveries() == 0)
        async with running_conductor(agents) as (second, _):
            await agents.until(lambda: second.alive)
            # The first conductor is told to stop.
            await first.leave(LONG_S)
            await agents.in_db(lambda: make.report(league.match("R1M1"), "P01"))
            first_task.cancel()
            await asyncio.gather(first_task, return_exceptions=True)
            await agents.until(lambda: second.leads)
            await agents.until_in_db(lambda: pending_deliveries() == 0)
    kinds = ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]
    assert agents.types("P01") == kinds
    assert agents.types("REF01") == ["ROUND_ANNOUNCEMENT", "START_MATCH", "LEAGUE_COMPLETED"]


async def test_two_conductors_deliver_each_message_once(agents: Agents) -> None:
    await agents.in_db(lambda: make_league(agents))
    async with running_conductor(agents) as (first, _), running_conductor(agents) as (second, _):
        await agents.until(lambda: first.leads is not second.leads)
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
        await agents.until_in_db(lambda: pending_deliveries() == 0)
    assert agents.types("P01") == ["ROUND_ANNOUNCEMENT"]
    assert agents.types("REF01") == ["ROUND_ANNOUNCEMENT", "START_MATCH"]


async def test_a_conductor_that_ends_says_so(agents: Agents) -> None:
    async with running_conductor(agents) as (conductor, task):
        await agents.until(lambda: conductor.leads)
        assert await agents.in_db(ConductorLease.objects.count) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await agents.in_db(ConductorLease.objects.count) == 0


async def test_a_conductor_that_leaves_waits_until_its_messages_are_answered(agents: Agents) -> None:
    go_on = asyncio.Event()
    agents.gates["P01"] = go_on
    await agents.in_db(lambda: make_league(agents))
    async with running_conductor(agents) as (conductor, task):
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "ROUND_ANNOUNCEMENT" in agents.types("P01"))
        leaving = asyncio.create_task(conductor.leave(LONG_S))
        await agents.until_in_db(lambda: pending_deliveries() == 1)
        assert not leaving.done()
        go_on.set()
        await leaving
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert await agents.in_db(pending_deliveries) == 0
    assert agents.types("REF01") == ["ROUND_ANNOUNCEMENT"]
