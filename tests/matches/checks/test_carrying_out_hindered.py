"""A check during which something of the site's own was away says nothing about the agent, and is made again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, OperationalError
from django.test import Client as Browser
from django.utils import timezone

from agents_registry.addresses.callers import Caller as Asker
from agents_registry.models import Agent
from league_sdk.conformance.report import Report
from league_sdk.protocol.calls import NotReached, Reply
from league_sdk.protocol.faults import Cause
from league_sdk.transport.client import Caller, Client
from matches.checks import asking, carrying_out, practising, runs, taking
from matches.checks.performing import OnClause
from matches.checks.taking import Job
from matches.desk import overview
from matches.inbox.finding import Hindered
from matches.inbox.hub import hub
from matches.models import Check, League
from matches.view import readiness
from tests import factories as make
from tests.matches.agent_server import PATIENCE_S, Agents
from tests.matches.checks.working import checker_running
from tests.matches.inbox.stalling import stalled_site
from tests.matches.reports import whole
from tests.matches.view.test_readiness_wall import failing, store_check

pytestmark = pytest.mark.django_db(transaction=True)
NO_LOOKUPS = "cannot look names up"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be checked is checked again at once."""
    monkeypatch.setattr(runs, "AGAIN_S", 0.0)


def new_check(port: int = 8101) -> Check:
    return asking.ask(endpoint=f"http://127.0.0.1:{port}/mcp", caller=Asker("127.0.0.1"))


def row(check: Check) -> Check:
    return Check.checks_and_practices.get(pk=check.pk)


def desk_says() -> list[str]:
    return [problem.text for problem in overview.context(League.objects.get(pk="fall"))["desk"]["problems"]]


class FailsOnOurSide:
    """The transport of the site, whose machine cannot make the first calls."""

    def __init__(self, failures: int) -> None:
        self.left = failures

    async def post(self, url: str, message: Any, **_: Any) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise NotReached("this machine cannot look names up", connected=False, cause=Cause.LEAGUE)
        return Reply(200, {"jsonrpc": "2.0", "result": {}, "id": 1}, "", 0.0, {})

    def under_same_policy(self, agent_type: str) -> FailsOnOurSide:
        return self

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("as_referee", [False, True])
async def test_a_call_that_our_side_could_not_make_is_no_verdict(
    db_thread: Agents, monkeypatch: pytest.MonkeyPatch, *, as_referee: bool
) -> None:
    transport = FailsOnOurSide(1)
    monkeypatch.setattr(carrying_out.Checker, "_caller", lambda self, job: transport)
    monkeypatch.setattr(runs, "AGAIN_S", 3600.0)

    async def runner(job: Job, client: Caller, on_clause: OnClause) -> Report:
        caller = client.under_same_policy("referee") if as_referee else client
        await caller.post(job.endpoint, {}, limit_s=1)
        return whole()

    def seen() -> tuple[readiness.Readiness, list[str]]:
        return readiness.readiness([agent])[agent.pk], desk_says()

    made = await db_thread.in_db(lambda: make.league(players=2))
    agent = made.players[0].agent
    await db_thread.in_db(lambda: store_check(agent))
    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, pass_interval_s=0.01):
        await db_thread.until_in_db(lambda: row(check).state == "WANTED" and row(check).runs == 1)
        known, said = await db_thread.in_db(seen)
        assert (known.word, known.passed) == (readiness.Ready.READY, True)
        [sentence] = [text for text in said if "could not be checked" in text]
        assert "P01" in sentence
        assert NO_LOOKUPS in sentence
        await db_thread.in_db(lambda: Check.objects.filter(pk=check.pk).update(due_at=timezone.now()))
        await db_thread.until_in_db(lambda: row(check).state == "DONE")
    assert await db_thread.in_db(lambda: (row(check).passed, row(check).problem)) == (True, "")


async def test_a_check_that_fails_while_the_database_is_away_is_made_again(db_thread: Agents) -> None:
    fails, failed_while_checked, reports = [False], asyncio.Event(), list[bool]()

    async def in_thread(work: Callable[[], Any]) -> Any:
        if fails[0] and work.__name__ == "answers":
            failed_while_checked.set()
            raise OperationalError("the connection is lost")
        return await db_thread.in_db(work)

    async def runner(job: Job, client: Caller, on_clause: OnClause) -> Report:
        first = not reports
        if first:
            fails[0] = True
            await failed_while_checked.wait()
            fails[0] = False
        reports.append(not first)
        return whole(passed=not first)

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, in_thread=in_thread, pass_interval_s=0.01):
        await db_thread.until_in_db(lambda: row(check).state == "DONE")
    assert reports == [False, True]
    assert await db_thread.in_db(lambda: (row(check).passed, row(check).runs)) == (True, 2)


async def test_a_check_that_passes_counts_whatever_was_away(db_thread: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying_out, "LATE_S", -PATIENCE_S)

    async def runner(job: Job, client: Caller, on_clause: OnClause) -> Report:
        return whole()

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, pass_interval_s=0.01):
        await db_thread.until_in_db(lambda: row(check).state == "DONE")
    assert await db_thread.in_db(lambda: row(check).runs) == 1


async def test_a_check_that_fails_while_its_own_process_stands_still_is_made_again(
    db_thread: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = list[str]()
    put_off = runs.put_off
    monkeypatch.setattr(runs, "put_off", lambda **how: why.append(str(how["why"])) or put_off(**how))
    hindered = asyncio.Event()
    monkeypatch.setattr(carrying_out, "LATE_S", -PATIENCE_S)
    hinder = carrying_out.Checker._hinder

    def noted(self: carrying_out.Checker, what: Any) -> None:
        hinder(self, what)
        if self._hindered:
            hindered.set()

    monkeypatch.setattr(carrying_out.Checker, "_hinder", noted)

    async def runner(job: Job, client: Caller, on_clause: OnClause) -> Report:
        await hindered.wait()
        return whole(passed=bool(why))

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, pass_interval_s=0.01):
        await db_thread.until_in_db(lambda: row(check).state == "DONE")
    assert len(why) == 1


async def test_an_outcome_waits_for_the_database(db_thread: Agents) -> None:
    failures = [2]

    async def in_thread(work: Callable[[], Any]) -> Any:
        if work.__name__ == "end" and failures[0]:
            failures[0] -= 1
            raise OperationalError("the connection is lost")
        return await db_thread.in_db(work)

    async def runner(job: Job, client: Caller, on_clause: OnClause) -> Report:
        return whole()

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, in_thread=in_thread, pass_interval_s=0.01):
        await db_thread.until_in_db(lambda: row(check).state == "DONE")
    assert (failures, await db_thread.in_db(lambda: row(check).runs)) == ([0], 1)


@pytest.mark.parametrize("practice", [False, True])
async def test_nothing_is_begun_over_a_line_while_redis_is_away(db_thread: Agents, *, practice: bool) -> None:
    made = await db_thread.in_db(lambda: make.league(players=2))
    agent = made.players[0].agent

    def queue() -> Check:
        if practice:
            return practising.ask(agent=agent, proven=True, asked_by="127.0.0.1", opponent="easy")
        return asking.ask_for_agents(agent_ids=[agent.pk])[0]

    await db_thread.in_db(lambda: store_check(agent, **failing("join.accepts")))
    check = await db_thread.in_db(queue)
    with hub.line(agent.pk, "poll", token="t"):
        with stalled_site():
            assert await db_thread.in_db(lambda: taking.take(now=timezone.now())) == []
            waiting = await db_thread.in_db(lambda: row(check))
            assert (waiting.state, waiting.problem.startswith("Redis")) == ("WANTED", True)
            known = (await db_thread.in_db(lambda: readiness.readiness([agent])))[agent.pk]
            assert bool(known.hindered) is not practice
        [job] = await db_thread.in_db(lambda: taking.take(now=timezone.now()))
        assert (job.check_id, await db_thread.in_db(lambda: row(check).problem)) == (check.pk, "")


async def test_an_agent_whose_line_only_the_database_knows_is_not_called_at_its_address(db_thread: Agents) -> None:
    made = await db_thread.in_db(lambda: make.league(players=2))
    agent = made.players[0].agent

    def taken() -> list[Job]:
        Agent.objects.filter(pk=agent.pk).update(line="poll", line_seen_at=timezone.now())
        asking.ask_for_agents(agent_ids=[agent.pk])
        return taking.take(now=timezone.now())

    [job] = await db_thread.in_db(taken)
    assert job.agent == agent.pk


@pytest.mark.django_db
def test_the_report_and_the_wall_say_that_the_site_is_the_cause(client: Browser) -> None:
    made = make.league(players=2)
    check = store_check(made.players[0].agent, running=True)
    assert runs.put_off(check_id=check.pk, run=0, why="the database of this site did not answer")
    page = client.get(f"/check/{check.pk}").content.decode()
    assert "It could not be checked, because of the site itself: the database of this site did not answer." in page
    assert "Mend this first" not in page
    Check.objects.update(due_at=timezone.now() + timedelta(hours=1))
    known = readiness.readiness([made.players[0].agent])[made.players[0].agent.pk]
    assert (known.word, known.step) == (
        readiness.Ready.NOT_CHECKED,
        "Leave it running: the site could not check it, and tries again by itself.",
    )


async def test_what_was_away_while_an_outcome_waited_says_nothing_of_the_next_run(db_thread: Agents) -> None:
    fails, hindered_again, passes = [False], asyncio.Event(), [0]

    async def in_thread(work: Callable[[], Any]) -> Any:
        if fails[0] and work.__name__ == "answers":
            passes[0] += 1
            # The run has ended by the second pass: its outcome waits.
            if passes[0] > 2:
                fails[0] = False
            raise OperationalError("the connection is lost")
        if fails[0] and work.__name__ == "end":
            raise OperationalError("the connection is lost")
        return await db_thread.in_db(work)

    async def runner(job: Job, client: Caller, on_clause: OnClause) -> Report:
        if not hindered_again.is_set():
            hindered_again.set()
            fails[0] = True
            raise Hindered("the database of this site did not answer")
        return whole(passed=False)

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, in_thread=in_thread, pass_interval_s=0.01):
        await db_thread.until_in_db(lambda: row(check).state == "DONE")
    assert await db_thread.in_db(lambda: (row(check).passed, row(check).runs)) == (False, 2)


async def test_an_outcome_that_the_database_refuses_does_not_hold_its_place(db_thread: Agents) -> None:
    ends = [0]

    async def in_thread(work: Callable[[], Any]) -> Any:
        if work.__name__ == "end":
            ends[0] += 1
            raise DataError("unsupported Unicode escape sequence")
        return await db_thread.in_db(work)

    async def runner(job: Job, client: Caller, on_clause: OnClause) -> Report:
        return whole()

    check = await db_thread.in_db(new_check)
    client = Client(agent_type="league_manager")
    checker = carrying_out.Checker(client, in_thread, lambda: False, check=runner, pass_interval_s=0.0)
    [job] = await db_thread.in_db(lambda: taking.take(now=timezone.now()))
    await asyncio.wait_for(checker._run(job), PATIENCE_S)
    await client.aclose()
    assert (ends, job.check_id) == ([1], check.pk)
