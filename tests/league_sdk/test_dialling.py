"""Dialling out, against an inbox whose answers each test prepares."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from aiohttp import WSCloseCode, web

from league_sdk import dialling as dialling_out
from league_sdk.dialling import DialledLine, Ended, Inbox, NotAllowed, TakenOver, inbox_of, until_moved
from league_sdk.protocol import SDK_VERSION
from league_sdk.serving import Port

PATIENCE_S = 20.0
Poll = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Socket = Callable[[web.WebSocketResponse], Awaitable[None]]


@dataclass
class Site:
    """An inbox that handles each poll and each socket with the next handler of a list; the last handler is used again.

    Attributes:
        polls, sockets: the handlers.
        responses: every response of the agent that arrived, as (way, response).
        headers: the headers of every request.
        queries: the query of every poll.
        refuse_posts: how many POSTs are answered with 503 before one is accepted.
    """

    polls: list[Poll] = field(default_factory=list)
    sockets: list[Socket] = field(default_factory=list)
    responses: asyncio.Queue[tuple[str, dict[str, Any]]] = field(default_factory=asyncio.Queue)
    headers: list[dict[str, str]] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    refuse_posts: int = 0
    port: int = 0

    @property
    def inbox(self) -> Inbox:
        return Inbox(f"http://127.0.0.1:{self.port}/inbox", f"ws://127.0.0.1:{self.port}/ws/inbox", "tok")

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        if request.path == "/inbox" and request.method == "POST":
            if self.refuse_posts:
                self.refuse_posts -= 1
                return web.Response(status=503)
            for response in (await request.json())["responses"]:
                self.responses.put_nowait(("poll", response))
            return web.json_response({"accepted": 1, "not_awaited": []})
        if request.path == "/inbox":
            self.queries.append(dict(request.query))
            return await (self.polls.pop(0) if len(self.polls) > 1 else self.polls[0])(request)
        if not self.sockets:
            return web.Response(status=404)
        line = web.WebSocketResponse()
        await line.prepare(request)
        await (self.sockets.pop(0) if len(self.sockets) > 1 else self.sockets[0])(line)
        return line

    async def take(self, line: web.WebSocketResponse, number: int = 1) -> None:
        """Take this many answers from a socket."""
        for _ in range(number):
            self.responses.put_nowait(("websocket", await line.receive_json()))

    async def next_response(self) -> tuple[str, dict[str, Any]]:
        async with asyncio.timeout(PATIENCE_S):
            return await self.responses.get()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    port = Port(site.handle)
    site.port = await port.open("127.0.0.1")
    yield site
    await port.close()


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():  # noqa: ASYNC110 - the condition changes in a server's handler, which sets no event
            await asyncio.sleep(0)


def ping(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "ping", "params": {"n": number}, "id": number}


def new_messages(*numbers: int, following: str = "c") -> Poll:
    async def poll(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(
            {"messages": [{"cursor": "c", "request": ping(number)} for number in numbers], "next": following}
        )

    return poll


def status(code: int, text: str = "", **headers: str) -> Poll:
    async def poll(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=code, text=text, headers=headers)

    return poll


async def nothing_new(request: web.BaseRequest) -> web.StreamResponse:
    """Nothing is new for as long as the agent waits."""
    return await asyncio.Future()


@dataclass
class Agent:
    """Answers, and remembers what it was asked."""

    seen: list[int] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.seen.append(request["id"])
        await self.may_answer.wait()
        return {"jsonrpc": "2.0", "id": request["id"], "result": {"answer": len(self.seen)}}


@contextmanager
def dialling(site: Site, agent: Agent, *ways: str, **how: Any) -> Iterator[asyncio.Task[None]]:
    say = how.pop("lines", []).append
    ways = ways or ("websocket", "poll")
    line = DialledLine(site.inbox, agent.answer, ways=ways, say=say, first_backoff_s=0.001, **how)
    keeping = asyncio.get_running_loop().create_task(line.keep())
    try:
        yield keeping
    finally:
        keeping.cancel()


async def until_ended(keeping: asyncio.Task[None]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await keeping


async def test_each_poll_sends_the_cursor_of_the_poll_before(site: Site) -> None:
    site.polls, agent = [new_messages(1, 2, following="a-b"), nothing_new], Agent()
    with dialling(site, agent, "poll"):
        responses = [await site.next_response() for _ in range(2)]
        assert sorted(response["id"] for _way, response in responses) == [1, 2]
        await until(lambda: len(site.queries) == 2)
    assert site.queries[:2] == [{"wait": "25", "after": ""}, {"wait": "25", "after": "a-b"}]
    assert site.headers[0]["Authorization"] == "Bearer tok"
    assert site.headers[0]["User-Agent"] == f"player/{SDK_VERSION}"


async def test_messages_of_a_socket_are_answered_concurrently(site: Site) -> None:
    async def two(line: web.WebSocketResponse) -> None:
        await line.send_json(ping(1))
        await line.send_json(ping(2))
        await until(lambda: len(agent.seen) == 2)
        agent.may_answer.set()
        await site.take(line, 2)
        await line.receive()

    site.sockets, site.polls, agent = [two], [nothing_new], Agent()
    agent.may_answer.clear()
    with dialling(site, agent):
        assert {(await site.next_response())[0] for _ in range(2)} == {"websocket"}
    assert site.queries == []


async def test_an_agent_polls_if_no_socket_can_be_opened(site: Site) -> None:
    lines: list[str] = []
    site.polls = [new_messages(7), nothing_new]
    with dialling(site, Agent(), lines=lines):
        assert (await site.next_response())[1]["id"] == 7
    assert lines == ["messages are fetched from the league now (by poll)"]


async def test_a_message_offered_again_on_the_next_line_is_handled_once_and_gets_the_same_answer(site: Site) -> None:
    async def cut(line: web.WebSocketResponse) -> None:
        await line.send_json(ping(5))
        await until(lambda: bool(agent.seen))
        await line.close(code=WSCloseCode.GOING_AWAY)
        agent.may_answer.set()

    site.sockets, agent = [cut], Agent()
    site.polls = [new_messages(5), new_messages(5, 6), nothing_new]
    agent.may_answer.clear()
    with dialling(site, agent):
        responses = [await site.next_response() for _ in range(3)]
    assert agent.seen == [5, 6]
    first = {"jsonrpc": "2.0", "id": 5, "result": {"answer": 1}}
    assert [response for _way, response in responses if response["id"] == 5] == [first, first]


async def test_an_answer_that_the_league_did_not_accept_is_sent_again(site: Site) -> None:
    site.polls, site.refuse_posts = [new_messages(3), nothing_new], 3
    with dialling(site, Agent(), "poll"):
        assert (await site.next_response())[1]["id"] == 3
    assert site.refuse_posts == 0


@pytest.mark.parametrize(
    "broken",
    [
        status(503),
        status(200, "<html>a router's page</html>"),
        status(200, "[]"),
        status(200, '{"messages": 1, "next": "c"}'),
        status(302),
        status(429, **{"Retry-After": "0.01"}),
    ],
    ids=["503", "html", "list", "messages", "redirect", "too often"],
)
async def test_after_an_unusable_answer_an_agent_polls_again_without_a_cursor(site: Site, broken: Poll) -> None:
    site.polls = [new_messages(1), broken, new_messages(2), nothing_new]
    with dialling(site, Agent(), "poll"):
        assert [(await site.next_response())[1]["id"] for _ in range(2)] == [1, 2]
    assert [query["after"] for query in site.queries[:3]] == ["", "c", ""]


async def test_after_a_restart_of_the_site_the_agent_connects_again(site: Site) -> None:
    lines: list[str] = []
    site.polls = [new_messages(1), nothing_new]
    port = Port(site.handle)
    site.port = number = await port.open("127.0.0.1")
    with dialling(site, Agent(), "poll", lines=lines):
        assert (await site.next_response())[1]["id"] == 1
        await port.close()
        site.polls = [new_messages(2), nothing_new]
        again = Port(site.handle)
        await again.open("127.0.0.1", number)
        assert (await site.next_response())[1]["id"] == 2
        await again.close()
    assert [text.partition(" (")[0] for text in lines][:3] == [
        "messages are fetched from the league now",
        "the line to the league is broken",
        "messages are fetched from the league now",
    ]


async def test_a_line_that_was_closed_is_not_said_to_be_broken_for_the_reason_of_an_attempt_before(site: Site) -> None:
    async def close_after_one_message(line: web.WebSocketResponse) -> None:
        await line.send_json(ping(1))
        await site.take(line)

    lines: list[str] = []
    with dialling(site, Agent(), "websocket", lines=lines):
        await until(lambda: len(site.headers) > 0)
        # Until now every socket was refused with HTTP 404.
        site.sockets = [close_after_one_message]
        await site.next_response()
        await until(lambda: len(lines) > 1)
    assert lines[1] == "the line to the league is broken (closed); dialling again"


async def test_invalid_frames_and_messages_are_ignored(site: Site) -> None:
    async def noise(line: web.WebSocketResponse) -> None:
        for text in ("no json", "[]", "{}", '{"id": "text"}', '{"id": true}', '{"id": NaN}'):
            await line.send_str(text)
        await line.send_bytes(b"\xff")
        await line.send_json(ping(9))
        await site.take(line)
        await line.receive()

    site.sockets, agent = [noise], Agent()
    with dialling(site, agent, "websocket"):
        assert (await site.next_response())[1]["id"] == 9
    assert agent.seen == [9]


async def test_an_agent_that_fails_answers_with_an_error(site: Site) -> None:
    async def fail(request: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("the strategy")

    site.polls = [new_messages(4), nothing_new]
    keeping = asyncio.create_task(DialledLine(site.inbox, fail, ways=("poll",)).keep())
    _way, response = await site.next_response()
    keeping.cancel()
    await asyncio.wait([keeping])
    assert (response["id"], response["error"]["code"]) == (4, -32603)


@pytest.mark.parametrize(("code", "why"), [(409, TakenOver), (401, NotAllowed)])
async def test_a_poll_that_is_taken_over_or_not_allowed_ends_the_line(site: Site, code: int, why: type[Ended]) -> None:
    site.polls = [status(code)]
    with dialling(site, Agent(), "poll") as keeping, pytest.raises(why, match="auth_token"):
        await until_ended(keeping)
    assert len(site.queries) == 1


@pytest.mark.parametrize(("code", "why"), [(4409, TakenOver), (4401, NotAllowed)])
async def test_a_socket_that_is_taken_over_or_not_allowed_ends_the_line(
    site: Site, code: int, why: type[Ended]
) -> None:
    async def close(line: web.WebSocketResponse) -> None:
        await line.close(code=code)

    site.sockets, site.polls = [close], [nothing_new]
    with dialling(site, Agent()) as keeping, pytest.raises(why, match="auth_token"):
        await until_ended(keeping)
    assert site.queries == []


async def test_a_limited_number_of_answers_is_remembered(site: Site) -> None:
    numbers = [list(range(first, first + 5)) for first in range(1, 51, 5)]
    site.polls, agent = [*(new_messages(*some) for some in numbers), new_messages(1), nothing_new], Agent()
    with dialling(site, agent, "poll", max_remembered=40):
        for _ in range(51):
            await site.next_response()
    assert agent.seen.count(1) == 2


def test_an_inbox_is_at_the_address_that_answered_the_registration() -> None:
    urls = {"poll_url": "http://10.0.0.7:8000/inbox", "websocket_url": "ws://10.0.0.7:8000/ws/inbox"}
    inbox = inbox_of({"auth_token": "t", "inbox": urls}, "https://tunnel.example/mcp", "referee")
    assert inbox == Inbox("https://tunnel.example/inbox", "wss://tunnel.example/ws/inbox", "t", "referee")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"auth_token": "t"},
        {"auth_token": "", "inbox": {"poll_url": "http://a/inbox", "websocket_url": "ws://a/i"}},
        {"auth_token": "t", "inbox": {"poll_url": 1, "websocket_url": "ws://a/i"}},
        {"auth_token": "t", "inbox": {"poll_url": "http://[", "websocket_url": "ws://a/i"}},
    ],
)
def test_an_answer_without_a_usable_inbox_gives_none(answer: dict[str, Any]) -> None:
    assert inbox_of(answer, "http://127.0.0.1:8000/mcp") is None


async def test_a_cancelled_line_leaves_no_task_behind(site: Site) -> None:
    site.polls, agent = [new_messages(1), nothing_new], Agent()
    agent.may_answer.clear()

    def tasks_of_lines() -> set[asyncio.Task[Any]]:
        code = {task: getattr(task.get_coro(), "cr_code", None) for task in asyncio.all_tasks()}
        return {task for task, made_of in code.items() if made_of and made_of.co_filename == dialling_out.__file__}

    with dialling(site, agent, "poll") as keeping:
        await until(lambda: len(site.queries) == 2)
        assert len(tasks_of_lines()) > 1
    with suppress(asyncio.CancelledError):
        await until_ended(keeping)
    await asyncio.sleep(0)
    assert tasks_of_lines() == set()


@pytest.mark.parametrize("way", ["poll", "websocket"])
async def test_a_machine_whose_address_has_changed_dials_again_at_once(site: Site, way: str) -> None:
    """Its old connections stay silent without an error; the new line offers the messages that were not delivered."""
    addresses = ["192.0.2.7"]
    watch = partial(until_moved, watch_s=0.01, address=lambda: addresses[0])
    lines: list[str] = []

    async def on_the_new_line(line: web.WebSocketResponse) -> None:
        await line.send_json(ping(2))
        await site.take(line)
        await line.receive()

    async def dies_after_one_message(line: web.WebSocketResponse) -> None:
        await line.send_json(ping(1))
        await site.take(line)
        addresses[0] = "192.0.2.8"
        await line.receive()

    async def dead(request: web.BaseRequest) -> web.StreamResponse:
        addresses[0] = "192.0.2.8"
        return await nothing_new(request)

    site.polls, site.sockets = (
        [new_messages(1), dead, new_messages(2), nothing_new],
        [dies_after_one_message, on_the_new_line],
    )
    with dialling(site, Agent(), way, lines=lines, until_moved=watch):
        assert (await site.next_response())[1]["id"] == 1
        assert (await site.next_response())[1]["id"] == 2
    assert any("its network has changed" in text for text in lines)
