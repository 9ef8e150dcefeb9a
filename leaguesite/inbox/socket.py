"""The inbox as a WebSocket: each text frame to the agent is one JSON-RPC request, each frame from it one response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from typing import Any

from agents_registry.models import Agent
from agents_registry.rate_limits.attempts import CALLS, Wait, attempts
from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.errors import NotJson, TokenInvalid, TooOften
from leaguesite.inbox.admission import OPEN_LINES, UNKNOWN_SOCKETS, LineCounts, owner_of
from leaguesite.serving.known_tokens import known_tokens
from leaguesite.serving.threads import AGENTS, THREADS
from matches.inbox.hub import hub
from matches.inbox.lines import Line
from storage.databases import outside_requests

TAKEN_OVER, NOT_ALLOWED, TRY_LATER, NOT_A_RESPONSE, GO_ELSEWHERE = 4409, 4401, 1013, 4400, 1012
"""Codes with which the socket is closed."""
GONE = 1000
"""The agent has closed the socket itself."""
FIRST_FRAME_TIMEOUT_S = 5.0
"""The time within which a socket without an Authorization header must send its token."""
MAX_WRONG_FRAMES = 20
"""Frames that are not responses; after more the socket is closed."""


class Inbox:
    """ASGI application of an agent's socket.

    Args:
        executor: looks tokens up.
        lines: counts the lines of agents.
        unknown: counts sockets until it is known whose they are.
        find_owner: finds the agent of a token, which came from an address, as :func:`owner_of` does.
    """

    def __init__(
        self,
        executor: Executor = THREADS[AGENTS],
        *,
        lines: LineCounts = OPEN_LINES,
        unknown: LineCounts = UNKNOWN_SOCKETS,
        find_owner: Callable[[str, str], Agent] = owner_of,
    ) -> None:
        self._find_owner = find_owner
        self._executor, self._lines, self._unknown = executor, lines, unknown

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket until it is closed or taken over."""
        if (await receive())["type"] != "websocket.connect":
            return
        with Ahead(receive) as ahead:
            code = await self._until_closed(scope, ahead, send)
        if code != GONE:
            await send({"type": "websocket.close", "code": code})

    async def _until_closed(self, scope: dict[str, Any], ahead: Ahead, send: Any) -> int:
        """Serve a socket; returns the code to close it with, or GONE."""
        address, token = scope["caller"], _bearer(scope)
        try:
            # A caller without a token in its Authorization header that this process knows is counted apart until its
            # token is checked, and takes no agent's line.
            with nullcontext() if known_tokens.owner(token) is not None else self._unknown.taken(address):
                await send({"type": "websocket.accept"})
                token = token or await _first_frame(ahead.receive)
                ahead.watch()
                agent = await self._owner(token, address)
            if await ahead.is_gone():
                return GONE
            if agent is None:
                return NOT_ALLOWED
            with self._lines.taken(address), hub.line(agent, "websocket", token=tokens.digest(token)) as line:
                return await _serve(line, partial(attempts.count_call, CALLS, token), ahead.receive, send)
        except TooOften:
            return TRY_LATER

    async def _owner(self, token: str, address: str) -> int | None:
        """The agent that owns a token; None if nobody does.

        Raises:
            TooOften: as :func:`owner_of` raises it.
        """

        @outside_requests()
        def look_up() -> int | None:
            try:
                return self._find_owner(token, address).pk
            except TokenInvalid:
                return None

        return await asyncio.get_running_loop().run_in_executor(self._executor, look_up) if token else None


class Ahead:
    """Receives a message of a socket before it is asked for, to see whether the agent has left meanwhile.

    While a process stands still, agents give up their sockets at it and open lines elsewhere. When it goes on, such a
    socket must not take the agent's new line over.

    Args:
        receive: ``receive`` of the ASGI application.
    """

    def __init__(self, receive: Callable[[], Any]) -> None:
        self._receive = receive
        self._next: asyncio.Future[Any] | None = None

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._next is not None:
            self._next.cancel()

    def watch(self) -> None:
        """Receive the next message from now on."""
        self._next = asyncio.ensure_future(self._receive())

    async def is_gone(self) -> bool:
        """Whether the agent has closed the socket since :meth:`watch`."""
        # What came while the process stood still is read in these turns of the event loop.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        pending = self._next
        return pending is not None and pending.done() and pending.result()["type"] == "websocket.disconnect"

    async def receive(self) -> Any:
        """The next message."""
        pending, self._next = self._next, None
        return await (self._receive() if pending is None else pending)


def _bearer(scope: dict[str, Any]) -> str:
    value = next((value for name, value in scope["headers"] if name == b"authorization"), b"").decode("latin1")
    scheme, _space, credential = value.partition(" ")
    return str(credential.strip()) if scheme.lower() == "bearer" else ""


async def _first_frame(receive: Callable[[], Any]) -> str:
    """The auth_token in the first frame; empty if there is none in time."""
    try:
        async with asyncio.timeout(FIRST_FRAME_TIMEOUT_S):
            message = await receive()
        frame = rpc.loads((message.get("text") or "").encode())
    except (TimeoutError, NotJson):
        return ""
    token = frame.get("auth_token") if isinstance(frame, dict) else None
    return token if isinstance(token, str) else ""


async def _serve(line: Line, count: Callable[[], Wait | None], receive: Any, send: Any) -> int:
    """Hand messages over and take answers; returns the code to close the socket with.

    Args:
        count: counts a frame as a call of the agent, as over HTTP; returns how long to wait if there were too many.
    """
    sender = asyncio.create_task(_keep_sending(line, send))
    reader = asyncio.create_task(_keep_reading(line, count, receive))
    try:
        await asyncio.wait((sender, reader), return_when=asyncio.FIRST_COMPLETED)
        return sender.result() if sender.done() else reader.result()
    finally:
        for task in (sender, reader):
            task.cancel()
        await asyncio.gather(sender, reader, return_exceptions=True)


async def _keep_sending(line: Line, send: Any) -> int:
    while not line.over:
        for offer in hub.due(line):
            await send({"type": "websocket.send", "text": rpc.dumps(offer.request).decode()})
        await line.news.wait()
    return TAKEN_OVER if line.taken_over else GO_ELSEWHERE if line.let_go else NOT_ALLOWED


async def _keep_reading(line: Line, count: Callable[[], Wait | None], receive: Any) -> int:
    wrong = 0
    while wrong <= MAX_WRONG_FRAMES:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return GONE
        if count() is not None:
            return TRY_LATER
        try:
            response = rpc.loads(message.get("bytes") or (message.get("text") or "").encode())
        except NotJson:
            response = None
        if isinstance(response, dict) and "id" in response:
            hub.answer(line.agent, response)
        else:
            wrong += 1
    return NOT_A_RESPONSE
