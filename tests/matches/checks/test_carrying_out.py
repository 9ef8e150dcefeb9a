"""Checks as the conductor carries them out: taken, shown as they go, ended whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from channels.testing import WebsocketCommunicator

from agents_registry.callers import Caller
from league_sdk.conformance.report import Report
from league_sdk.transport.client import Client
from leaguesite.asgi import application
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.checks import asking, carrying_out, taking
from matches.checks.report import FRAGMENTS
from matches.checks.taking import Job
from matches.live import hub as hubs
from matches.models import Check
from matches.push import notify
from tests import factories as make
from tests.matches.agent_server import PATIENCE_S, Agents
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agents]:
    """Database work has a thread; whatever is pushed is news."""
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(notify, "_loop", loop)
    monkeypatch.setattr(carrying_out, "BREATH_S", 0)
    monkeypatch.setattr(carrying_out, "SHOW_EVERY_S", 0)
    found = Agents()
    push = notify.push

    def heard(*changed: Any) -> None:
        push(*changed)
        loop.call_soon_threadsafe(found.news.set)

    monkeypatch.setattr(notify, "push", heard)
    yield found
    subscription = hubs.hub._subscription
    # Redis's client may swallow a cancellation, now and then every one: a test waits for that no longer than this.
    for _ in range(8):
        if subscription is None or subscription.done():
            break
        subscription.cancel()
        await asyncio.wait({subscription}, timeout=1)


@asynccontextmanager
async def at_work(here: Agents, *, draining: Callable[[], bool] = lambda: False) -> AsyncIterator[None]:
    client = Client(agent_type="league_manager")
    task = asyncio.create_task(carrying_out.keep_checking(client, here.in_db, draining))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.aclose()


def asked(port: int = 8101) -> Check:
    return asking.ask(endpoint=f"http://127.0.0.1:{port}/mcp", caller=Caller("127.0.0.1"))


def state(check: Check) -> str:
    return str(Check.objects.values_list("state", flat=True).get(pk=check.pk))


def found_by(runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(carrying_out.CHECKS, "player", runner)


async def test_a_check_is_run_and_shown_clause_by_clause(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()

    async def runner(job: Job, client: Client, on_clause: carrying_out.OnClause) -> Report:
        on_clause(clause())
        await go_on.wait()
        return Report.from_json(report())

    found_by(runner, monkeypatch)
    check = await here.in_db(asked)
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
    async with at_work(here):
        await until("Running: 1 clause so far.")
        assert 'id="clause-join.accepts"' in shown["check_clauses"]
        go_on.set()
        await until("This agent can play here as it is.")
    assert shown == await here.in_db(lambda: pages.fragments(PageKey("check", item=str(check.pk)), "en"))
    await socket.disconnect(timeout=PATIENCE_S)


async def test_a_check_that_is_not_there_closes_with_4404(here: Agents) -> None:
    path = f"/ws/checks/{uuid4()}/"
    socket = WebsocketCommunicator(application, path, headers=[(b"origin", b"http://testserver")])
    assert await socket.connect(timeout=PATIENCE_S) == (True, None)
    assert await socket.receive_output(timeout=PATIENCE_S) == {"type": "websocket.close", "code": 4404}
    await socket.wait(timeout=PATIENCE_S)


async def test_a_registered_agent_is_checked_as_what_it_is(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Job] = []

    async def runner(job: Job, client: Client, on_clause: carrying_out.OnClause) -> Report:
        seen.append(job)
        return Report.from_json(report())

    found_by(runner, monkeypatch)
    place = await here.in_db(lambda: make.setting(players=2))
    check = await here.in_db(lambda: asked(8102))
    async with at_work(here):
        await here.until_in_db(lambda: state(check) == "DONE")
    token = await here.in_db(lambda: asking.credentials.league_token(place.players[1].agent))
    assert [(job.player_id, job.league_id, job.league_token, job.game_types) for job in seen] == [
        ("P02", "fall", token, ("even_odd",))
    ]


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (RuntimeError("broken"), "The check itself failed; the site's log says why."),
        (None, "The check did not end within 0 s."),
    ],
)
async def test_a_check_that_goes_wrong_says_so(
    here: Agents, monkeypatch: pytest.MonkeyPatch, problem: Exception | None, said: str
) -> None:
    async def runner(job: Job, client: Client, on_clause: carrying_out.OnClause) -> Report:
        if problem is not None:
            raise problem
        await asyncio.Event().wait()
        raise AssertionError("never")

    found_by(runner, monkeypatch)
    if problem is None:
        monkeypatch.setattr(carrying_out, "RUN_LIMIT_S", 0)
    check = await here.in_db(asked)
    async with at_work(here):
        await here.until_in_db(lambda: state(check) == "FAILED")
    assert (await here.in_db(lambda: Check.objects.get(pk=check.pk).problem)) == said


async def test_one_address_waits_for_itself_and_others_do_not(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    gates: dict[str, asyncio.Event] = {}

    async def runner(job: Job, client: Client, on_clause: carrying_out.OnClause) -> Report:
        gate = gates.setdefault(job.endpoint, asyncio.Event())
        here.news.set()
        await gate.wait()
        return Report.from_json(report())

    found_by(runner, monkeypatch)
    own = "http://127.0.0.1:8101"

    def ask_three() -> list[Check]:
        caller = Caller("127.0.0.1")
        return [
            asking.ask(endpoint=address, caller=caller)
            for address in (f"{own}/a", f"{own}/b", "http://127.0.0.1:8102/c")
        ]

    first, second, other = await here.in_db(ask_three)
    async with at_work(here):
        await here.until(lambda: len(gates) == 2)
        assert await here.in_db(lambda: [state(one) for one in (first, second, other)]) == [
            "RUNNING",
            "WANTED",
            "RUNNING",
        ]
        gates[first.endpoint].set()
        await here.until(lambda: second.endpoint in gates)
        gates[second.endpoint].set()
        gates[other.endpoint].set()
        await here.until_in_db(lambda: not Check.objects.exclude(state="DONE").exists())


async def test_whoever_stops_gives_its_checks_back(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = asyncio.Event()

    async def runner(job: Job, client: Client, on_clause: carrying_out.OnClause) -> Report:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("never")

    found_by(runner, monkeypatch)
    check = await here.in_db(asked)
    async with at_work(here):
        await begun.wait()
        assert await here.in_db(lambda: state(check)) == "RUNNING"
    assert await here.in_db(lambda: state(check)) == "WANTED"


async def test_nothing_is_begun_while_draining(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = asyncio.Event()
    monkeypatch.setattr(carrying_out, "TICK_S", 0)

    def draining() -> bool:
        looked.set()
        return True

    check = await here.in_db(asked)
    async with at_work(here, draining=draining):
        await looked.wait()
    assert await here.in_db(lambda: state(check)) == "WANTED"


async def test_a_failing_look_is_tried_again(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    async def runner(job: Job, client: Client, on_clause: carrying_out.OnClause) -> Report:
        return Report.from_json(report())

    found_by(runner, monkeypatch)
    monkeypatch.setattr(carrying_out, "TICK_S", 0)
    take, tries = taking.take, []

    def unlucky(**how: Any) -> list[Job]:
        tries.append(how)
        if len(tries) == 1:
            raise RuntimeError("the database is gone")
        return take(**how)

    monkeypatch.setattr(taking, "take", unlucky)
    check = await here.in_db(asked)
    async with at_work(here):
        await here.until_in_db(lambda: state(check) == "DONE")
