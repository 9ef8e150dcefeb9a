"""Whose call runs when, in which thread, and how many calls may wait (``leaguesite.serving``)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from agents_registry import registration
from leaguesite.asgi import application
from leaguesite.serving import devices, threads
from leaguesite.serving.turns import Turns, known_tokens
from tests import factories as make
from tests import wire
from tests.leaguesite.serving.test_threads import PATIENCE_S, Held, scope
from tests.matches.agent_server import Agents

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def here() -> Agents:
    return Agents()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """The agents' thread stands still."""
    held = Held()
    monkeypatch.setitem(threads._THREADS, "agents", held.pool)
    yield held
    held.end()


def test_callers_take_turns() -> None:
    turns, done = Turns(), []
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(go_on.wait, PATIENCE_S)
        for who in "AAAABBC":
            turns.submit(thread, who, lambda who=who: done.append(who))
        go_on.set()
    assert "".join(done) == "ABCABAA"


def test_what_was_cancelled_is_not_run_and_what_fails_is_told() -> None:
    turns, done, go_on = Turns(), [], threading.Event()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(go_on.wait, PATIENCE_S)
        first = turns.submit(thread, "A", lambda: done.append(1))
        second = turns.submit(thread, "A", lambda: 1 // 0)
        third = turns.submit(thread, "A", lambda: "well")
        first.cancel()
        go_on.set()
        assert isinstance(second.exception(PATIENCE_S), ZeroDivisionError)
        assert third.result(PATIENCE_S) == "well"
    assert done == []


async def call(params: dict[str, Any], method: str, *, address: str = "192.0.2.7", bearer: str = "") -> Any:
    """A call of an agent that is on its way."""
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {bearer}"} if bearer else {})
    talk = ApplicationCommunicator(application, scope("POST", "/mcp", headers) | {"client": (address, 50000)})
    await talk.send_input({"type": "http.request", "body": json.dumps(wire.request(method, params)).encode()})
    return talk


async def answered(talk: ApplicationCommunicator) -> tuple[int, Any]:
    start = await talk.receive_output(PATIENCE_S)
    body = (await talk.receive_output(PATIENCE_S))["body"]
    await talk.wait(PATIENCE_S)
    return start["status"], json.loads(body)


async def heartbeat(referee: make.Member, *, bearer: bool = True) -> Any:
    params = make.signed(referee, "report_progress", matches=[])
    return await call(params, "report_progress", bearer=referee.token if bearer else "")


@pytest.mark.parametrize("bearer", [True, False])
async def test_a_referee_of_ours_waits_for_no_agent(
    here: Agents, monkeypatch: pytest.MonkeyPatch, bearer: bool
) -> None:
    referee = await here.in_db(lambda: make.hire("Referee"))
    assert referee.agent.site_key
    # The first one is learned from.
    assert (await answered(await heartbeat(referee)))[1]["result"] == {"matches": []}
    held = Held()
    monkeypatch.setitem(threads._THREADS, "agents", held.pool)
    try:
        waiting = await held.wait_for(await call({}, "ping"))
        assert (await answered(await heartbeat(referee, bearer=bearer)))[1]["result"] == {"matches": []}
    finally:
        held.end()
    assert (await answered(waiting[0]))[1]["result"] == {"status": "ok"}


async def test_a_token_that_is_revoked_has_no_line_of_its_own_any_more(here: Agents) -> None:
    referee = await here.in_db(lambda: make.hire("Referee"))
    await answered(await heartbeat(referee))
    assert known_tokens.owner(referee.token) is not None
    await here.in_db(lambda: referee.agent.tokens.all().delete())
    assert (await answered(await heartbeat(referee)))[1]["error"]["data"]["error_code"] == "E012"
    assert known_tokens.owner(referee.token) is None


async def test_neither_a_player_nor_a_foreign_referee_gets_into_the_line_of_ours(here: Agents, held: Held) -> None:
    def both() -> list[make.Member]:
        make.open_league("fall")
        foreign = make.hire("Foreign", trusted=False)
        registration.trust(agent_ids=[foreign.agent.pk], trusted=True)
        return [make.join("Student", "fall"), foreign]

    members = await here.in_db(both)
    for one in members:
        known_tokens.learn(one.token, one.agent)
    talks = [await call({}, "ping", bearer=one.token) for one in members]
    await held.wait_for(*talks)
    held.end()
    assert [(await answered(talk))[0] for talk in talks] == [200, 200]


async def test_one_that_asks_a_lot_delays_another_by_one_call(
    here: Agents, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    respond = threads.OneHopHandler._respond

    def noting(self: Any, scope: Any, body: Any) -> Any:
        order.append(scope["client"][0])
        return respond(self, scope, body)

    monkeypatch.setattr(threads.OneHopHandler, "_respond", noting)
    loud, quiet = "192.0.2.7", "192.0.2.8"
    talks = [await call({}, "ping", address=loud) for _ in range(20)]
    await held.wait_for(*talks)
    talks += await held.wait_for(await call({}, "ping", address=quiet))
    held.end()
    assert [(await answered(talk))[0] for talk in talks] == [200] * 21
    assert order.index(quiet) == 1


async def test_as_many_wait_for_one_token_and_one_address_and_the_rest_is_told_to_come_again(
    here: Agents, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.in_db(lambda: make.open_league("fall"))
    student = await here.in_db(lambda: make.join("Student", "fall"))
    known_tokens.learn(student.token, student.agent)
    monkeypatch.setattr(threads, "MOST_OF_A_PLAYER", 2)
    monkeypatch.setitem(threads.MOST_OF_AN_ADDRESS, "agents", 3)
    monkeypatch.setitem(threads.MOST_UNKNOWN, "agents", 4)
    talks = [await call({}, "ping", bearer=student.token) for _ in range(2)]
    talks += [await call({}, "ping") for _ in range(3)]
    await held.wait_for(*talks)
    refused = [await call({}, "ping", bearer=student.token), await call({}, "ping", bearer="tok_made_up")]
    assert [(await answered(talk))[0] for talk in refused] == [429, 429]
    # Another address is not shut out by this one, until strangers have filled their share.
    talks += await held.wait_for(await call({}, "ping", address="192.0.2.9"))
    assert (await answered(await call({}, "ping", address="192.0.2.10")))[0] == 429
    held.end()
    assert [(await answered(talk))[0] for talk in talks] == [200] * 6
    monkeypatch.setitem(threads._THREADS, "agents", threads.agents_thread)
    assert (await answered(await call({}, "ping", bearer=student.token)))[0] == 200


async def test_a_browser_that_has_logged_in_has_room_beside_a_crowd_at_the_desk(
    here: Agents, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The crowd may be behind the instructor's own address."""
    monkeypatch.setitem(threads._THREADS, "desk", held.pool)
    monkeypatch.setitem(threads.MOST_OF_AN_ADDRESS, "desk", 3)
    monkeypatch.setattr(threads, "MOST_OF_A_BROWSER", 1)

    async def get(cookie: str = "") -> ApplicationCommunicator:
        asked = scope("GET", "/admin/login/", {})
        asked["headers"] = [*asked["headers"], (b"cookie", cookie.encode())]
        talk = ApplicationCommunicator(application, asked)
        await talk.send_input({"type": "http.request", "body": b""})
        return talk

    crowd = [await get() for _ in range(3)]
    await held.wait_for(*crowd)
    known = f"{devices.COOKIE}={devices.new_cookie('instructor')}"
    forged = known[:-1] + ("a" if known[-1] != "a" else "b")
    assert [(await answered(await get(cookie)))[0] for cookie in ("", forged)] == [429, 429]
    crowd += await held.wait_for(await get(known))
    # A copied cookie is one browser: it fills no more of the line.
    assert (await answered(await get(known)))[0] == 429
    held.end()
    assert [(await talk.receive_output(PATIENCE_S))["status"] for talk in crowd] == [200] * 4


async def test_the_desk_waits_for_no_page(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setitem(threads._THREADS, "pages", held.pool)

    async def get(path: str) -> ApplicationCommunicator:
        talk = ApplicationCommunicator(application, scope("GET", path, {}))
        await talk.send_input({"type": "http.request", "body": b""})
        return talk

    try:
        waiting = await held.wait_for(await get("/health"))
        desk = await get("/admin/login/")
        assert (await desk.receive_output(PATIENCE_S))["status"] == 200
    finally:
        held.end()
    await asyncio.gather(*(talk.receive_output(PATIENCE_S) for talk in waiting))
