"""What the hostile agents share: a port, the reading of a request, the answer of an agent that behaves.

No HTTP library: what goes out is bytes, so that anything can be said. An agent joins its match and takes every
message well; its behaviour is what it does at one point, whatever words it is asked in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

JOIN, MOVE, OVER = "handle_game_invitation", "choose_parity", "notify_match_result"
OWN = "tok_" + "7" * 32
"""The auth_token that every one of them has."""
RESET = b"\x01\0\0\0\0\0\0\0"
"""SO_LINGER of no time: closing sends a reset."""


@dataclass(frozen=True)
class Asked:
    """One request.

    Attributes:
        method: of the JSON-RPC request; empty when it has none.
        params: of it, or the whole body when it has none.
        id: of it.
        path: of the HTTP request.
    """

    method: str
    params: dict[str, Any]
    id: Any
    path: str


class Talk:
    """One connection, from the agent's end."""

    def __init__(self, agent: Agent, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.agent = agent
        self._reader = reader
        self._writer = writer

    async def read(self) -> Asked:
        """The next request."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        length = next((line for line in head if line.lower().startswith("content-length:")), "0:0")
        raw = await self._reader.readexactly(int(length.partition(":")[2]))
        body = json.loads(raw) if raw else {}
        params = body.get("params", body)
        return Asked(str(body.get("method", "")), params, body.get("id"), head[0].split(" ")[1])

    async def send(self, raw: bytes) -> None:
        """Bytes as they are."""
        self._writer.write(raw)
        await self._writer.drain()

    async def say(self, body: bytes, *, kind: str = "application/json", more: str = "", status: str = "200 OK") -> None:
        """A whole answer with its length; ``more`` are header lines, each with its end."""
        await self.send(head(len(body), kind=kind, more=more, status=status) + body)

    async def never(self) -> None:
        """Say nothing until the caller has gone."""
        while await self._reader.read(4096):
            continue

    def reset(self) -> None:
        """End the connection with a reset."""
        plug = self._writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()

    def half_close(self) -> None:
        """Say that nothing more will be said."""
        self._writer.write_eof()

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


Act = Callable[[Talk, Asked], Awaitable[None]]


@dataclass(frozen=True)
class Behaviour:
    """One way of doing harm.

    Attributes:
        name: the function's.
        says: its docstring.
        act: answers one request; the connection is kept when it returns.
        at: the method at which it is done (JOIN or MOVE); everything else is answered well.
    """

    name: str
    says: str
    act: Act
    at: str = MOVE


BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(at: str = MOVE) -> Callable[[Act], Act]:
    """Enter a function into the list, to be done at one method."""

    def enter(act: Act) -> Act:
        name = getattr(act, "__name__", "")
        if name in BEHAVIOURS:
            raise ValueError(f"two behaviours are called {name}")
        BEHAVIOURS[name] = Behaviour(name, (act.__doc__ or "").strip(), act, at)
        return act

    return enter


def head(length: int | None, *, kind: str = "application/json", more: str = "", status: str = "200 OK") -> bytes:
    """Status line and header; without a length none is given."""
    sized = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{sized}{more}\r\n".encode("utf-8", "surrogateescape")


def message(asked: Asked, **changes: Any) -> dict[str, Any]:
    """The fields of a good answer, some of them changed."""
    if asked.method in (OVER, "notify_game_error"):
        return {"status": "ok"}
    joins = asked.method == JOIN
    player = asked.params.get("player_id", "")
    said = {
        "protocol": "league.v2",
        "message_type": "GAME_JOIN_ACK" if joins else "CHOOSE_PARITY_RESPONSE",
        "sender": f"player:{player}",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": asked.params.get("conversation_id", ""),
        "auth_token": OWN,
        "match_id": asked.params.get("match_id", ""),
        "player_id": player,
    }
    answer = {"arrival_timestamp": "2025-01-15T10:30:00Z", "accept": True} if joins else {"parity_choice": "even"}
    return said | answer | changes


def result(asked: Asked, fields: Any) -> bytes:
    """A JSON-RPC result as bytes."""
    return json.dumps({"jsonrpc": "2.0", "result": fields, "id": asked.id}).encode()


@dataclass
class Agent:
    """A behaviour on a port of its own; without one an agent that behaves.

    Attributes:
        behaviour: what it does.
        heard: the methods it was asked under, in order.
        inner: an address that only the referee's machine can reach, to send it there.
        stolen: an auth_token that is not its own.
        token: its own auth_token.
        told: what its own POSTs were answered.
        url: its address, once it listens.
    """

    behaviour: Behaviour | None = None
    heard: list[str] = field(default_factory=list)
    inner: str = ""
    stolen: str = ""
    token: str = OWN
    told: list[bytes] = field(default_factory=list)
    url: str = ""
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> str:
        """Listen; the address."""
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 20)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self.url

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a connection is served by a task")
        self._open.add(task)
        try:
            talk = Talk(self, reader, writer)
            # Whoever talks to such an agent may go at any moment; asyncio would log a task that was cancelled.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while not writer.is_closing():
                    await self._answer(talk, await talk.read())
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, talk: Talk, asked: Asked) -> None:
        self.heard.append(asked.method)
        if self.behaviour is not None and self._is_its_point(asked):
            await self.behaviour.act(talk, asked)
        else:
            await talk.say(result(asked, message(asked, auth_token=self.token)))

    def _is_its_point(self, asked: Asked) -> bool:
        """Whether it is asked for that at which it does harm, or in words that no other agent would know."""
        if self.behaviour is None or asked.method == self.behaviour.at:
            return True
        # Whatever other words it is tried in: it does the same to all of them.
        return asked.method not in (JOIN, MOVE, OVER, "notify_game_error")


async def post(url: str, body: Any) -> bytes:
    """One POST of an agent's own; the answer's bytes."""
    parts = urlsplit(url)
    raw = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(
            f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(raw)}\r\nConnection: close\r\n\r\n".encode()
            + raw
        )
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()
