"""The inbox as a WebSocket: strangers keep no agent out, and an agent that sends too often is closed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents_registry.models import Kind
from league_sdk.protocol import rpc, tokens
from leaguesite.inbox.admission import Seats
from leaguesite.inbox.socket import MAX_WRONG_FRAMES, NOT_A_RESPONSE, TRY_LATER, Inbox
from leaguesite.serving.known_tokens import Bearer, known_tokens
from matches.inbox.hub import hub

TOKEN, ADA = "tok_" + "a" * 32, 7


class Agents(Inbox):
    """The sockets of a site whose only agent is ADA."""

    async def _owner(self, token: str, address: str) -> int | None:
        return ADA if token == TOKEN else None


class Socket:
    """One socket from the address of a school."""

    def __init__(self, site: Agents, token: str = "") -> None:
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.received: list[dict[str, Any]] = []
        self.sent.put_nowait({"type": "websocket.connect"})
        scope = {"caller": "203.0.113.5", "headers": headers}
        self.task = asyncio.create_task(site(scope, self.sent.get, self._hear))

    async def _hear(self, message: dict[str, Any]) -> None:
        self.received.append(message)

    def say(self, frame: Any) -> None:
        self.sent.put_nowait({"type": "websocket.receive", "text": rpc.dumps(frame).decode()})

    async def code(self) -> int:
        """Wait until the socket is closed; returns the close code."""
        await asyncio.wait_for(self.task, 5)
        return int(self.received[-1]["code"])


async def let_tasks_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def site() -> Agents:
    """Two agents have a seat, and two strangers wait to be known."""
    return Agents(seats=Seats(max_lines=2), doorstep=Seats(max_lines=2))


def know_the_token_of_ada() -> None:
    known_tokens._bearers[tokens.digest(TOKEN)] = Bearer(ADA, Kind.PLAYER, ours=False)


async def test_strangers_that_say_nothing_keep_no_agent_out(site: Agents) -> None:
    strangers = [Socket(site) for _ in range(3)]
    await let_tasks_run()
    assert await strangers[2].code() == TRY_LATER
    know_the_token_of_ada()
    agent = Socket(site, TOKEN)
    await let_tasks_run()
    assert [line.agent for line in hub.lines()] == [ADA]
    for one in (*strangers[:2], agent):
        one.sent.put_nowait({"type": "websocket.disconnect"})
    await asyncio.gather(*(one.task for one in (*strangers[:2], agent)))


async def test_an_agent_that_has_shown_its_token_leaves_the_doorstep(site: Agents) -> None:
    agents = [Socket(site) for _ in range(2)]
    for one in agents:
        one.say({"auth_token": TOKEN})
        await let_tasks_run()
    newest = Socket(site, TOKEN)
    await let_tasks_run()
    assert [one.task.done() for one in (*agents, newest)] == [True, True, False]
    newest.sent.put_nowait({"type": "websocket.disconnect"})
    await newest.task


async def test_a_socket_with_more_frames_than_calls_are_allowed_is_closed(site: Agents, settings: Any) -> None:
    settings.LEAGUE_CALLS_PER_TOKEN = "5 per 60 second"
    agent = Socket(site, TOKEN)
    for number in range(6):
        agent.say({"id": number, "result": {}})
    assert await agent.code() == TRY_LATER


async def test_a_socket_that_was_closed_before_it_was_served_takes_over_no_line(site: Agents) -> None:
    know_the_token_of_ada()
    stale = Socket(site, TOKEN)
    stale.sent.put_nowait({"type": "websocket.disconnect"})
    with hub.line(ADA, "websocket", token="of the newer line") as newer:
        await asyncio.wait_for(stale.task, 5)
        assert hub.lines() == [newer]
        assert not newer.over
    assert [message["type"] for message in stale.received] == ["websocket.accept"]


async def test_frames_that_come_while_the_token_is_looked_up_are_not_lost(site: Agents) -> None:
    know_the_token_of_ada()
    agent = Socket(site, TOKEN)
    for _ in range(MAX_WRONG_FRAMES + 1):
        agent.say("no response")
    assert await agent.code() == NOT_A_RESPONSE
    assert hub.lines() == []
