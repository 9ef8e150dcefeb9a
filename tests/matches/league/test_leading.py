"""Several conductors: one conducts, another takes over, and two at once start no match twice."""

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

from matches.conducting import due
from matches.conducting.conductor import Conductor
from matches.conducting.sending import Patience
from matches.league import lifecycle, outbox
from matches.league.leading import give_up_lead, take_lead
from matches.models import Delivery, Lead, Match
from tests import factories as make
from tests.matches.agent_server import Agents
from tests.matches.conducting.test_conductor import make_league, pending_deliveries

pytestmark = pytest.mark.django_db(transaction=True)
LONG_S = 60


def is_led() -> bool:
    return Lead.objects.filter(until__gt=Now()).exists()


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


def lead_runs_out() -> None:
    """Set the end of the lead into the past."""
    Lead.objects.update(until=Now() - timedelta(seconds=1))


def test_a_conductor_has_the_lead_until_it_gives_it_up_or_stops_renewing_it() -> None:
    assert not is_led()
    assert take_lead(holder="a")
    assert is_led()
    assert (take_lead(holder="b"), take_lead(holder="a")) == (False, True)
    give_up_lead(holder="b")
    assert not take_lead(holder="b")
    give_up_lead(holder="a")
    assert not is_led()
    assert (take_lead(holder="b"), take_lead(holder="a")) == (True, False)
    lead_runs_out()
    assert (take_lead(holder="a"), take_lead(holder="b")) == (True, False)


def test_the_only_conductor_of_a_site_does_not_wait_for_one_that_was_killed() -> None:
    assert take_lead(holder="killed")
    assert take_lead(holder="new", force=True)
    assert not take_lead(holder="killed")


@pytest.mark.parametrize("led_before", [False, True])
def test_of_many_conductors_at_once_one_gets_the_lead(led_before: bool) -> None:
    if led_before:
        take_lead(holder="before")
        lead_runs_out()
    names = [f"conductor-{number}" for number in range(6)]
    leads = at_once(*(lambda name=name: take_lead(holder=name) for name in names))
    assert sorted(leads) == [False] * 5 + [True]
    assert Lead.objects.get().holder == names[leads.index(True)]


def test_two_leaders_at_once_assign_no_match_twice() -> None:
    """One was suspended and has not noticed yet that it lost the lead."""
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
    """Wakes a waiting test after each look, also without the lead."""

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


async def test_of_two_conductors_only_the_one_with_the_lead_sends(agents: Agents) -> None:
    league = await agents.in_db(lambda: make_league(agents))
    async with running_conductor(agents) as (first, _):
        await agents.until(lambda: first.leads)
        async with running_conductor(agents) as (second, _):
            await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
            await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
            await agents.until_in_db(lambda: pending_deliveries() == 0)
            await agents.until(lambda: second.alive)
            assert (first.leads, second.leads) == (True, False)
            # The first conductor is told to stop. The test gives up its lead, as its end would: the second takes over.
            await first.leave(LONG_S)
            await agents.in_db(lambda: make.report(league.match("R1M1"), "P01"))
            await agents.in_db(lambda: give_up_lead(holder=Lead.objects.get().holder))
            await agents.until(lambda: second.leads)
            await agents.until_in_db(lambda: pending_deliveries() == 0)
    kinds = ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]
    assert agents.types("P01") == kinds
    assert agents.types("REF01") == ["ROUND_ANNOUNCEMENT", "START_MATCH", "LEAGUE_COMPLETED"]


async def test_a_conductor_that_ends_gives_up_the_lead(agents: Agents) -> None:
    async with running_conductor(agents) as (conductor, task):
        await agents.until(lambda: conductor.leads)
        assert await agents.in_db(is_led)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not await agents.in_db(is_led)


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


async def test_a_conductor_notices_that_it_lost_the_lead(agents: Agents) -> None:
    async with running_conductor(agents) as (conductor, _):
        await agents.until(lambda: conductor.leads)
        await agents.in_db(lambda: take_lead(holder="another", force=True))
        await agents.until(lambda: not conductor.leads)
