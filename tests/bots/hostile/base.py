"""What the hostile agents share: the answer of an agent that behaves, and a point at which each does not.

No HTTP library: what goes out is bytes, so that anything can be said. An agent joins its match and takes every
message well; its behaviour is what it does at one point, whatever words it is asked in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.bots import words
from tests.bots.base import Asked, Door, Talk
from tests.bots.words import rpc_result

JOIN, MOVE, OVER, ERROR = "handle_game_invitation", "choose_parity", "notify_match_result", "notify_game_error"
OWN = "tok_" + "7" * 32
"""The auth_token that every one of them has."""
NOW = "2025-01-15T10:30:00Z"
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


def message(asked: Asked, **changes: Any) -> dict[str, Any]:
    """The fields of a good answer, some of them changed."""
    if asked.method in (OVER, ERROR):
        return {"status": "ok"}
    told = {name: asked.params.get(name, "") for name in ("conversation_id", "match_id")}
    kind, said = "CHOOSE_PARITY_RESPONSE", {"parity_choice": "even"}
    if asked.method == JOIN:
        kind, said = "GAME_JOIN_ACK", {"accept": True}
    player = asked.params.get("player_id", "")
    return words.answer(kind, told, player, at=NOW, auth_token=OWN, **said) | changes


def result(asked: Asked, fields: Any) -> bytes:
    """A JSON-RPC result as bytes."""
    return json.dumps(rpc_result(fields, asked.id)).encode()


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
        port: where it listens; 0 for any.
        url: its address, once it listens.
    """

    behaviour: Behaviour | None = None
    heard: list[str] = field(default_factory=list)
    inner: str = ""
    stolen: str = ""
    token: str = OWN
    told: list[bytes] = field(default_factory=list)
    port: int = 0
    url: str = ""

    async def start(self) -> str:
        """Listen; the address."""
        self._door = Door(self, port=self.port)
        await self._door.open()
        self.url = f"http://127.0.0.1:{self._door.port}/mcp"
        return self.url

    async def stop(self) -> None:
        """Close everything."""
        await self._door.close()

    async def converse(self, talk: Talk) -> None:
        """Answer the requests of one connection."""
        while not talk.is_over():
            await self._answer(talk, await talk.read())

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
        return asked.method not in (JOIN, MOVE, OVER, ERROR)


def request(url: str, raw: bytes, more: str = "") -> bytes:
    """A POST of JSON as bytes; ``more`` are header lines, each with its end."""
    parts = urlsplit(url)
    return (
        f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(raw)}\r\n{more}\r\n".encode()
        + raw
    )


async def post(url: str, body: Any) -> bytes:
    """One POST of an agent's own; the answer's bytes."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(request(url, json.dumps(body).encode(), "Connection: close\r\n"))
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()
