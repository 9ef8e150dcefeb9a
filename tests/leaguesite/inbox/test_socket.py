"""The inbox as a WebSocket: strangers keep no agent out, and an agent that sends too often is closed."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agents_registry.models import Kind
from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.errors import LeagueError, TokenInvalid, TooOften
from leaguesite.inbox.admission import LineCounts
from leaguesite.inbox.socket import (
    GO_ELSEWHERE,
    MAX_WRONG_FRAMES,
    NOT_A_RESPONSE,
    NOT_ALLOWED,
    TAKEN_OVER,
    TRY_LATER,
    Inbox,
)
from leaguesite.serving.known_tokens import Bearer, known_tokens
from matches.inbox.hub import hub

TOKEN, ADA = "tok_" + "a" * 32, 7


class Agents(Inbox):
    """The sockets of a site whose only agent is ADA."""

    async def _owner(self, token: str, address: str) -> int | None:
        return ADA if token == TOKEN else None


class Socket:
    """One socket from the address of a school."""

    def __init__(self, site: Inbox, token: str = "") -> None:
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
    """Room for two lines of agents, and for two sockets whose token is not checked yet."""
    return Agents(lines=LineCounts(max_lines=2), unknown=LineCounts(max_lines=2))


def know_the_token_of_ada() -> None:
    known_tokens.bearers[tokens.digest(TOKEN)] = Bearer(ADA, Kind.PLAYER, ours=False)


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


async def test_a_socket_whose_token_was_checked_makes_room_for_another() -> None:
    site = Agents(lines=LineCounts(max_lines=2), unknown=LineCounts(max_lines=1))
    older = Socket(site)
    older.say({"auth_token": TOKEN})
    await let_tasks_run()
    newer = Socket(site)
    newer.say({"auth_token": TOKEN})
    await let_tasks_run()
    assert [one.task.done() for one in (older, newer)] == [True, False]
    assert await older.code() == TAKEN_OVER
    newer.sent.put_nowait({"type": "websocket.disconnect"})
    await newer.task


async def test_a_socket_with_more_frames_than_calls_are_allowed_is_closed(site: Agents, settings: Any) -> None:
    settings.LEAGUE_CALLS_PER_TOKEN = "5 per 60 second"
    agent = Socket(site, TOKEN)
    for number in range(6):
        agent.say({"id": number, "result": {}})
    assert await agent.code() == TRY_LATER


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TooOften("Too many calls with this token.", retry_after_s=5), TRY_LATER),
        (TokenInvalid("This auth_token is not valid.", field="auth_token", expected="a valid one"), NOT_ALLOWED),
    ],
    ids=["too often", "nobody's token"],
)
async def test_only_an_agent_whose_token_is_nobodys_is_told_that_it_is_not_allowed(
    error: LeagueError, code: int
) -> None:
    def refuse(token: str, address: str) -> Any:
        raise error

    with ThreadPoolExecutor(1) as executor:
        assert await Socket(Inbox(executor, find_owner=refuse), TOKEN).code() == code


async def test_a_socket_that_was_closed_before_it_was_served_takes_over_no_line(site: Agents) -> None:
    know_the_token_of_ada()
    stale = Socket(site, TOKEN)
    stale.sent.put_nowait({"type": "websocket.disconnect"})
    with hub.line(ADA, "websocket", token="of the newer line") as newer:
        await asyncio.wait_for(stale.task, 5)
        assert hub.lines() == [newer]
        assert not newer.over
    assert [message["type"] for message in stale.received] == ["websocket.accept"]


async def test_a_process_that_is_cut_off_sends_its_agents_elsewhere(site: Agents) -> None:
    know_the_token_of_ada()
    agent = Socket(site, TOKEN)
    await let_tasks_run()
    hub.let_go()
    assert await agent.code() == GO_ELSEWHERE
    assert hub.lines() == []


async def test_frames_that_come_while_the_token_is_looked_up_are_not_lost(site: Agents) -> None:
    know_the_token_of_ada()
    agent = Socket(site, TOKEN)
    for _ in range(MAX_WRONG_FRAMES + 1):
        agent.say("no response")
    assert await agent.code() == NOT_A_RESPONSE
    assert hub.lines() == []
