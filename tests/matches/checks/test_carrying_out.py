"""How the conductor runs checks: it claims them, publishes their progress, and ends them in any case."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from channels.testing import WebsocketCommunicator
from django.db import OperationalError
from django.utils import timezone

from agents_registry.addresses.callers import Caller
from agents_registry.models import Agent
from league_sdk.conformance.report import Report
from league_sdk.dialects.arguments import read_schema
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.tools import Tool
from league_sdk.transport.client import Client
from leaguesite.asgi import application
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.checks import asking, relaying, taking, tending
from matches.checks.performing import OnClause
from matches.checks.report import FRAGMENTS
from matches.checks.taking import Job
from matches.league import lifecycle
from matches.models import Check
from tests import factories as make
from tests.matches.agent_server import PATIENCE_S, Agents
from tests.matches.checks.working import checker_running
from tests.matches.reports import clause, whole

pytestmark = pytest.mark.django_db(transaction=True)


def new_check(port: int = 8101) -> Check:
    return asking.ask(endpoint=f"http://127.0.0.1:{port}/mcp", caller=Caller("127.0.0.1"))


def state(check: Check) -> str:
    return str(Check.objects.values_list("state", flat=True).get(pk=check.pk))


async def test_the_page_shows_a_running_check_clause_by_clause(db_thread: Agents) -> None:
    go_on = asyncio.Event()

    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        on_clause(clause())
        await go_on.wait()
        return whole()

    check = await db_thread.in_db(new_check)
    path = f"/ws/checks/{check.pk}/"
    socket = WebsocketCommunicator(application, path, headers=[(b"origin", b"http://testserver")])
    assert (await socket.connect(timeout=PATIENCE_S))[0]
    shown: dict[str, str] = {}

    async def until(sentence: str) -> None:
        while sentence not in shown.get("check_head", ""):
            frame = await socket.receive_json_from(timeout=PATIENCE_S)
            shown.update(frame.get("fragments", {}))
            await socket.send_json_to({"type": "ack"})

    await until("Waiting")
    assert tuple(shown) == FRAGMENTS
    async with checker_running(db_thread, runner):
        await until("Running: 1 clause so far.")
        assert 'id="clause-join.accepts"' in shown["check_clauses"]
        go_on.set()
        await until("This agent can play here as it is.")
    assert shown == await db_thread.in_db(lambda: pages.fragments(PageKey("check", item=str(check.pk)), "en"))
    await socket.disconnect(timeout=PATIENCE_S)


async def test_the_socket_of_an_unknown_check_is_closed_with_4404(db_thread: Agents) -> None:
    path = f"/ws/checks/{uuid4()}/"
    socket = WebsocketCommunicator(application, path, headers=[(b"origin", b"http://testserver")])
    assert await socket.connect(timeout=PATIENCE_S) == (True, None)
    assert await socket.receive_output(timeout=PATIENCE_S) == {"type": "websocket.close", "code": 4404}
    await socket.wait(timeout=PATIENCE_S)


async def test_a_registered_agent_is_checked_with_its_identity(db_thread: Agents) -> None:
    seen: list[Job] = []

    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        seen.append(job)
        return whole()

    made = await db_thread.in_db(lambda: make.league(players=2))
    check = await db_thread.in_db(lambda: new_check(8102))
    async with checker_running(db_thread, runner):
        await db_thread.until_in_db(lambda: state(check) == "DONE")
    token = await db_thread.in_db(lambda: asking.credentials.league_token(made.players[1].agent))
    assert [(job.player_id, job.league_id, job.league_token, job.game_types) for job in seen] == [
        ("P02", "fall", token, ("even_odd",))
    ]


@pytest.mark.parametrize("meanwhile", [None, "registers again", "dials out", "moves"])
async def test_what_a_check_learned_is_stored_unless_the_agent_has_changed_meanwhile(
    db_thread: Agents, meanwhile: str | None
) -> None:
    def change_agent() -> None:
        player = made.players[1].fresh()
        if meanwhile == "registers again":
            make.player(player.name, "fall", port=8102)
        elif meanwhile == "dials out":
            Agent.objects.filter(pk=player.pk).update(line="", line_seen_at=timezone.now() - timedelta(minutes=5))
        elif meanwhile == "moves":
            Agent.objects.filter(pk=player.pk).update(endpoint_key="127.0.0.1|8199/mcp?")

    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        await db_thread.in_db(change_agent)
        tool = Tool("pick", "", read_schema({"properties": {"matchId": {"type": "string"}}}))
        memory = Memory(mcp="2026-07-28", spoken={"GAME_OVER": "tools_list"}, own={"GAME_OVER": tool})
        return whole(memory=memory)

    made = await db_thread.in_db(lambda: make.league(players=2))
    check = await db_thread.in_db(lambda: new_check(8102))
    async with checker_running(db_thread, runner):
        await db_thread.until_in_db(lambda: state(check) == "DONE")
    agents = await db_thread.in_db(lambda: [player.fresh() for player in made.players])
    own = {"GAME_OVER": {"name": "pick", "arguments": [["matchId", "string", False, []]]}}
    expected = ({}, {}) if meanwhile else ({"GAME_OVER": "tools_list"}, {"own": own, "mcp": "2026-07-28"})
    assert [(agent.spoken, agent.learned) for agent in agents] == [({}, {}), expected]
    report = await db_thread.in_db(lambda: Check.objects.get(pk=check.pk).report)
    assert "memory" not in report


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (RuntimeError("broken"), "The check itself failed; the site's log says why."),
        (None, "The check did not end within 0 s."),
    ],
)
async def test_a_check_that_cannot_be_completed_fails_with_the_reason(
    db_thread: Agents, problem: Exception | None, expected: str
) -> None:
    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        if problem is not None:
            raise problem
        await asyncio.Event().wait()
        raise AssertionError("never")

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, run_timeout_s=0 if problem is None else PATIENCE_S):
        await db_thread.until_in_db(lambda: state(check) == "FAILED")
    assert (await db_thread.in_db(lambda: Check.objects.get(pk=check.pk).problem)) == expected


async def test_checks_of_one_address_run_one_after_the_other(db_thread: Agents) -> None:
    gates: dict[str, asyncio.Event] = {}

    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        gate = gates.setdefault(job.endpoint, asyncio.Event())
        db_thread.news.set()
        await gate.wait()
        return whole()

    own = "http://127.0.0.1:8101"

    def ask_three() -> list[Check]:
        caller = Caller("127.0.0.1")
        return [
            asking.ask(endpoint=address, caller=caller)
            for address in (f"{own}/a", f"{own}/b", "http://127.0.0.1:8102/c")
        ]

    first, second, other = await db_thread.in_db(ask_three)
    async with checker_running(db_thread, runner):
        await db_thread.until(lambda: len(gates) == 2)
        assert await db_thread.in_db(lambda: [state(one) for one in (first, second, other)]) == [
            "RUNNING",
            "WANTED",
            "RUNNING",
        ]
        gates[first.endpoint].set()
        await db_thread.until(lambda: second.endpoint in gates)
        gates[second.endpoint].set()
        gates[other.endpoint].set()
        await db_thread.until_in_db(lambda: not Check.objects.exclude(state="DONE").exists())


async def test_a_process_that_stops_returns_its_checks_to_the_queue(db_thread: Agents) -> None:
    runner_started = asyncio.Event()

    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        runner_started.set()
        await asyncio.Event().wait()
        raise AssertionError("never")

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner):
        await runner_started.wait()
        assert await db_thread.in_db(lambda: state(check)) == "RUNNING"
    assert await db_thread.in_db(lambda: state(check)) == "WANTED"


async def test_no_check_is_started_while_draining(db_thread: Agents) -> None:
    draining_asked = asyncio.Event()

    def draining() -> bool:
        draining_asked.set()
        return True

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, draining=draining, pass_interval_s=0):
        await draining_asked.wait()
    assert await db_thread.in_db(lambda: state(check)) == "WANTED"


async def test_a_failed_pass_over_the_checks_is_repeated(db_thread: Agents) -> None:
    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        return whole()

    works: list[Any] = []

    async def failing_first(work: Any) -> Any:
        works.append(work)
        if len(works) == 1:
            raise RuntimeError("the database is gone")
        return await db_thread.in_db(work)

    check = await db_thread.in_db(new_check)
    async with checker_running(db_thread, runner, in_thread=failing_first, pass_interval_s=0):
        await db_thread.until_in_db(lambda: state(check) == "DONE")


async def test_a_pass_that_fails_loses_no_answer_of_a_player_under_check(db_thread: Agents) -> None:
    listening, received, fails = asyncio.Event(), list[str](), False

    def receive(message_type: str, message: Any) -> None:
        received.append(message_type)
        db_thread.news.set()

    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        job.on_posts(receive)
        listening.set()
        await asyncio.Event().wait()
        raise AssertionError("never")

    async def in_thread(work: Callable[[], Any]) -> Any:
        if fails and work.__name__ == "jobs":
            raise OperationalError("database is locked")
        return await db_thread.in_db(work)

    made = await db_thread.in_db(lambda: make.league(players=2))
    await db_thread.in_db(new_check)
    message = {"match_id": "R123456M1", "accept": True}
    async with checker_running(db_thread, runner, pass_interval_s=0.01, in_thread=in_thread):
        await listening.wait()
        fails = True
        answer = {"player": made.players[0].agent, "message_type": "GAME_JOIN_ACK", "match_id": message["match_id"]}
        assert await db_thread.in_db(lambda: relaying.relay_answer(**answer, message=message))
        await db_thread.until(lambda: received == ["GAME_JOIN_ACK"])


async def test_a_check_interrupted_by_a_match_has_no_verdict_and_waits_again(db_thread: Agents) -> None:
    """Only a check of a registration is interrupted: the agent ends the simulated match and plays the real one."""
    stopped: list[bool] = []

    async def runner(job: Job, client: Client, on_clause: OnClause) -> Report:
        while not job.is_overtaken():  # noqa: ASYNC110 - a check asks this before every request
            await asyncio.sleep(0)
        stopped.append(True)
        return whole(passed=False)

    made = await db_thread.in_db(lambda: make.league(players=2))

    def queue_check() -> Check:
        agent = Agent.objects.select_related("league").get(pk=made.players[0].agent.pk)
        check = tending.after_registration(agent=agent, now=timezone.now() - timedelta(seconds=10))
        assert check is not None
        return check

    check = await db_thread.in_db(queue_check)
    async with checker_running(db_thread, runner, pass_interval_s=0.01):
        await db_thread.until_in_db(lambda: state(check) == "RUNNING")
        await db_thread.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await db_thread.until_in_db(lambda: state(check) == "WANTED")
        assert await db_thread.in_db(lambda: taking.take(now=timezone.now())) == []
    assert stopped == [True]
