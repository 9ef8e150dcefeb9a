"""Base of the hostile agents: correct answers, and a behaviour that replaces the answer to one method.

The agents use no HTTP library, so that they can send any bytes. An agent answers every message correctly, except
calls of the one method that its behaviour is for, and of methods of other dialects. These get the behaviour.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.bots import words
from tests.bots.base import Call, Listener, Talk
from tests.bots.words import rpc_result

JOIN, MOVE, OVER, ERROR = "handle_game_invitation", "choose_parity", "notify_match_result", "notify_game_error"
OWN = "tok_" + "7" * 32
"""The auth_token of the hostile agents that do not register."""
NOW = "2025-01-15T10:30:00Z"
Act = Callable[[Talk, Call], Awaitable[None]]


@dataclass(frozen=True)
class Behaviour:
    """One way of doing harm.

    Attributes:
        name: the name of its function.
        says: the docstring of its function.
        act: the function: answers one request; the connection stays open when it returns.
        at: the method whose answer it replaces (JOIN or MOVE). Calls in another dialect get the behaviour, too; the
            other methods of 004 chapter 8 get a correct answer.
    """

    name: str
    says: str
    act: Act
    at: str = MOVE


BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(at: str = MOVE) -> Callable[[Act], Act]:
    """Register a function as a behaviour that replaces the answer to one method."""

    def enter(act: Act) -> Act:
        name = getattr(act, "__name__", "")
        if name in BEHAVIOURS:
            raise ValueError(f"two behaviours are called {name}")
        BEHAVIOURS[name] = Behaviour(name, (act.__doc__ or "").strip(), act, at)
        return act

    return enter


def message(call: Call, **changes: Any) -> dict[str, Any]:
    """The fields of a good answer, with changes."""
    if call.method in (OVER, ERROR):
        return {"status": "ok"}
    ids = {name: call.params.get(name, "") for name in ("conversation_id", "match_id")}
    kind, fields = "CHOOSE_PARITY_RESPONSE", {"parity_choice": "even"}
    if call.method == JOIN:
        kind, fields = "GAME_JOIN_ACK", {"accept": True}
    player = call.params.get("player_id", "")
    return words.answer(kind, ids, player, at=NOW, auth_token=OWN, **fields) | changes


def result(call: Call, fields: Any) -> bytes:
    """A JSON-RPC result as bytes."""
    return json.dumps(rpc_result(fields, call.id)).encode()


@dataclass
class Agent:
    """An agent on a port of its own, with a behaviour; without one it gives good answers.

    Attributes:
        behaviour: how it does harm.
        methods: the methods of the calls it received, in order.
        inner: a URL that only the referee's machine can reach, for redirects.
        stolen: the auth_token of another agent.
        token: its own auth_token.
        post_replies: the answers to its own POSTs.
        port: where it listens; 0 for any.
        url: its URL, once it listens.
    """

    behaviour: Behaviour | None = None
    methods: list[str] = field(default_factory=list)
    inner: str = ""
    stolen: str = ""
    token: str = OWN
    post_replies: list[bytes] = field(default_factory=list)
    port: int = 0
    url: str = ""

    async def start(self) -> str:
        """Listen; returns its URL."""
        self._listener = Listener(self, port=self.port)
        await self._listener.open()
        self.url = f"http://127.0.0.1:{self._listener.port}/mcp"
        return self.url

    async def stop(self) -> None:
        """Close everything."""
        await self._listener.close()

    async def converse(self, talk: Talk) -> None:
        """Answer the requests of one connection."""
        while not talk.is_over():
            await self._answer(talk, await talk.read())

    async def _answer(self, talk: Talk, call: Call) -> None:
        self.methods.append(call.method)
        if self.behaviour is not None and _does_harm_at(self.behaviour, call):
            await self.behaviour.act(talk, call)
        else:
            await talk.say(result(call, message(call, auth_token=self.token)))


def _does_harm_at(behaviour: Behaviour, call: Call) -> bool:
    """Whether this call gets the behaviour: its method is the behaviour's, or one of another dialect."""
    # The referee hunts for a dialect: its call in each dialect gets the behaviour, too.
    return call.method == behaviour.at or call.method not in (JOIN, MOVE, OVER, ERROR)


def request(url: str, raw: bytes, more: str = "") -> bytes:
    """The bytes of a POST of JSON; ``more`` are further header lines, each with its CRLF."""
    parts = urlsplit(url)
    return (
        f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(raw)}\r\n{more}\r\n".encode()
        + raw
    )


async def post(url: str, body: Any) -> bytes:
    """Make a POST; returns the bytes of the response."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(request(url, json.dumps(body).encode(), "Connection: close\r\n"))
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()
