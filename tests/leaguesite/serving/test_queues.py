"""Which thread a request waits for, in whose share of the queue, and how many requests may wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core import signals

from agents_registry.registering import registration
from leaguesite.serving import devices, queues, threads
from leaguesite.serving.known_tokens import known_tokens
from tests import factories as make
from tests import wire
from tests.leaguesite.serving.asgi import Held, answer_of, begin, send
from tests.matches.agent_server import Agents

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agents() -> Agents:
    """No agent yet; its ``in_db`` runs a function in a thread with a database connection."""
    return Agents()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """The agents' thread stands still."""
    held = Held()
    monkeypatch.setitem(threads.THREADS, "agents", held.pool)
    yield held
    held.end()


async def call(params: dict[str, Any], method: str, *, address: str = "192.0.2.7", bearer: str = "") -> Any:
    """A call of an agent that is on its way."""
    headers = {"content_type": "application/json"} | ({"authorization": f"Bearer {bearer}"} if bearer else {})
    return await begin("POST", "/mcp", json.dumps(wire.request(method, params)).encode(), address=address, **headers)


async def status_of(talk: ApplicationCommunicator) -> int:
    return (await answer_of(talk)).status


async def result_of(talk: ApplicationCommunicator) -> Any:
    return (await answer_of(talk)).json["result"]


async def heartbeat(referee: make.RegisteredAgent, *, bearer: bool = True) -> Any:
    params = make.message_from(referee, "report_progress", matches=[])
    return await call(params, "report_progress", bearer=referee.token if bearer else "")


@pytest.mark.parametrize("bearer", [True, False])
async def test_a_call_of_the_sites_own_referee_does_not_wait_for_calls_of_agents(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, bearer: bool
) -> None:
    referee = await agents.in_db(lambda: make.referee("Referee"))
    assert referee.agent.site_key
    # From its first call the site learns whose token this is.
    assert await result_of(await heartbeat(referee)) == {"matches": []}
    held = Held()
    monkeypatch.setitem(threads.THREADS, "agents", held.pool)
    try:
        waiting = await held.wait_for(await call({}, "ping"))
        assert await result_of(await heartbeat(referee, bearer=bearer)) == {"matches": []}
    finally:
        held.end()
    assert await result_of(waiting[0]) == {"status": "ok"}


async def test_a_token_that_is_revoked_is_forgotten(agents: Agents) -> None:
    referee = await agents.in_db(lambda: make.referee("Referee"))
    await answer_of(await heartbeat(referee))
    assert known_tokens.owner(referee.token) is not None
    await agents.in_db(lambda: referee.agent.tokens.all().delete())
    assert (await answer_of(await heartbeat(referee))).json["error"]["data"]["error_code"] == "E012"
    assert known_tokens.owner(referee.token) is None


async def test_neither_a_player_nor_a_foreign_referee_waits_in_the_queue_of_our_referees(
    agents: Agents, held: Held
) -> None:
    def make_both() -> list[make.RegisteredAgent]:
        make.open_league("fall")
        foreign = make.referee("Foreign", trusted=False)
        registration.trust(agent_ids=[foreign.agent.pk], trusted=True)
        return [make.player("Student", "fall"), foreign]

    members = await agents.in_db(make_both)
    for one in members:
        known_tokens.learn(one.token, one.agent)
    talks = [await call({}, "ping", bearer=one.token) for one in members]
    await held.wait_for(*talks)
    held.end()
    assert [await status_of(talk) for talk in talks] == [200, 200]


async def test_a_caller_with_many_calls_delays_another_by_one_call(held: Held) -> None:
    order: list[str] = []

    def note(scope: Any, **_: Any) -> None:
        order.append(scope["client"][0])

    signals.request_started.connect(note)
    loud, quiet = "192.0.2.7", "192.0.2.8"
    talks = [await call({}, "ping", address=loud) for _ in range(20)]
    await held.wait_for(*talks)
    talks += await held.wait_for(await call({}, "ping", address=quiet))
    held.end()
    assert [await status_of(talk) for talk in talks] == [200] * 21
    signals.request_started.disconnect(note)
    assert order.index(quiet) == 1


async def test_more_calls_of_one_token_or_address_than_may_wait_are_429(
    agents: Agents, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agents.in_db(lambda: make.open_league("fall"))
    student = await agents.in_db(lambda: make.player("Student", "fall"))
    known_tokens.learn(student.token, student.agent)
    monkeypatch.setitem(queues.MAX_PER_OWNER, "player", 2)
    monkeypatch.setitem(queues.MAX_PER_ADDRESS, "agents", 3)
    monkeypatch.setitem(queues.MAX_UNKNOWN_CALLERS, "agents", 4)
    talks = [await call({}, "ping", bearer=student.token) for _ in range(2)]
    talks += [await call({}, "ping") for _ in range(3)]
    await held.wait_for(*talks)
    refused = [await call({}, "ping", bearer=student.token), await call({}, "ping", bearer="tok_made_up")]
    assert [await status_of(talk) for talk in refused] == [429, 429]
    # Another address is not shut out by this one, until strangers have filled their share.
    talks += await held.wait_for(await call({}, "ping", address="192.0.2.9"))
    assert await status_of(await call({}, "ping", address="192.0.2.10")) == 429
    held.end()
    assert [await status_of(talk) for talk in talks] == [200] * 6
    monkeypatch.setitem(threads.THREADS, "agents", threads.pages_thread)
    assert await status_of(await call({}, "ping", bearer=student.token)) == 200


@pytest.mark.parametrize(
    ("thread", "path", "status"),
    [("desk", "/admin/login/", 200), ("papers", "/api/leagues/none/evidence", 401)],
)
async def test_a_browser_that_has_logged_in_has_room_beside_a_crowd(
    held: Held, monkeypatch: pytest.MonkeyPatch, thread: str, path: str, status: int
) -> None:
    """The crowd may be behind the instructor's own address."""
    monkeypatch.setitem(threads.THREADS, thread, held.pool)
    monkeypatch.setitem(queues.MAX_PER_ADDRESS, thread, 3)
    monkeypatch.setitem(queues.MAX_PER_OWNER, thread, 1)

    async def get(cookie: str = "") -> ApplicationCommunicator:
        return await begin("GET", path, cookie=cookie)

    crowd = [await get() for _ in range(3)]
    await held.wait_for(*crowd)
    known = f"{devices.COOKIE}={devices.new_cookie('instructor')}"
    forged = known[:-1] + ("a" if known[-1] != "a" else "b")
    assert [await status_of(await get(cookie)) for cookie in ("", forged)] == [429, 429]
    crowd += await held.wait_for(await get(known))
    # A copy of the cookie counts as the same browser, which may have one request in the queue.
    assert await status_of(await get(known)) == 429
    held.end()
    assert [await status_of(talk) for talk in crowd] == [status] * 4


async def test_the_desk_does_not_wait_for_other_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    monkeypatch.setitem(threads.THREADS, "pages", held.pool)

    try:
        waiting = await held.wait_for(await begin("GET", "/health"))
        assert (await send("GET", "/admin/login/")).status == 200
    finally:
        held.end()
    await asyncio.gather(*(status_of(talk) for talk in waiting))


async def log_in(name: str, address: str, *cookie: str) -> ApplicationCommunicator:
    """A login that is on its way."""
    sent = {"content_type": "application/x-www-form-urlencoded"} | ({"cookie": cookie[0]} if cookie else {})
    form = urlencode({"username": name, "password": "x"})
    return await begin("POST", "/admin/login/", form.encode(), address=address, **sent)


async def test_logins_with_unknown_names_neither_lock_the_instructor_out_nor_delay_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit of wrong passwords counts by name, and refuses none of these logins: only the queues limit them."""
    guesser, own = "192.0.2.7", f"{devices.COOKIE}={devices.new_cookie('instructor')}"
    held = Held()
    monkeypatch.setitem(threads.THREADS, "logins", held.pool)
    try:
        waiting = await held.wait_for(*[await log_in(f"nobody {number}", guesser) for number in range(2)])
        # Two logins of one address may wait at a time, and two of one IPv6 /64.
        assert [await status_of(await log_in(f"noone {number}", guesser)) for number in range(3)] == [429] * 3
        waiting += await held.wait_for(*[await log_in("nobody", f"2001:db8::{number}") for number in (1, 2)])
        assert await status_of(await log_in("nobody", "2001:db8::3")) == 429
        # The instructor's own browser is let through at the guesser's address: 403 is Django's, for no CSRF token.
        assert await status_of(await log_in("instructor", guesser, own)) == 403
        # Logins from many addresses fill the queue, and still the instructor's own browser is let through.
        room = queues.MAX_WAITING["logins"] - len(waiting)
        waiting += await held.wait_for(*[await log_in("nobody", f"198.51.100.{number}") for number in range(room)])
        assert await status_of(await log_in("nobody", "203.0.113.1")) == 429
        assert await status_of(await log_in("instructor", guesser, own)) == 403
        # A cookie that we did not sign does not count.
        assert await status_of(await log_in("instructor", guesser, own[:-1])) == 429
    finally:
        held.end()
    assert [await status_of(one) for one in waiting] == [403] * queues.MAX_WAITING["logins"]


async def test_logins_make_room_in_the_queue_once_they_are_answered() -> None:
    for _ in range(queues.MAX_LOGINS_PER_CALLER + 1):
        assert await status_of(await log_in("nobody", "192.0.2.7")) == 403


async def test_a_known_browser_cannot_fill_its_queue_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be an assistant's browser that somebody else is using."""
    held = Held()
    monkeypatch.setitem(threads.THREADS, "known-logins", held.pool)
    first, second = (f"{devices.COOKIE}={devices.new_cookie('assistant')}" for _ in range(2))
    try:
        waiting = await held.wait_for(*[await log_in("x", "192.0.2.7", first) for _ in range(2)])
        assert await status_of(await log_in("x", "192.0.2.9", first)) == 429
        waiting += await held.wait_for(await log_in("x", "192.0.2.7", second))
    finally:
        held.end()
    assert [await status_of(one) for one in waiting] == [403] * 3
