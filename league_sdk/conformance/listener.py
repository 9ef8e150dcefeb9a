"""A small HTTP server on a free port, for what agents send of their own accord."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from league_sdk.dialects import inbound
from league_sdk.dialects.words import ANSWERS
from league_sdk.protocol.dispatch import Exchange, Post
from league_sdk.protocol.messages import MessageType
from league_sdk.serving import Port, read_post, response

Handler = Callable[[inbound.Inbound, Any], Awaitable[dict[str, Any]]]
"""Takes a message, and the decoded body that it came in; gives the message of the answer. May raise LeagueError."""
MOST_KEPT = 1000
_MOVES = (MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE)


def own_address(url: str) -> str:
    """The address of this machine by which an agent can reach it.

    Args:
        url: the agent's.

    Raises:
        OSError: there is no way to it.
    """
    parts = urlsplit(url)
    found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM)
    family, kind, protocol, _, where = found[0]
    with socket.socket(family, kind, protocol) as probe:
        # Nothing is sent: it only picks the route.
        probe.connect(where)
        return str(probe.getsockname()[0])


class _Hearing(Exchange[inbound.Inbound]):
    """Messages in any shape; a check reads them as they came."""

    def understand(self, body: Any, post: Post) -> inbound.Inbound:
        return inbound.read(body)

    def dress(self, asked: inbound.Inbound, message: Any) -> Any:
        return inbound.reply(asked, message)


class Listener:
    """Serves ``POST`` on every path of one port.

    Args:
        handle: answers a message.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._port = Port(self._serve)
        self.endpoint = ""

    async def start(self, host: str, port: int = 0) -> None:
        """Open a port, a free one for 0; :attr:`endpoint` is the address then.

        Raises:
            OSError: the host is none of this machine's, or the port is taken.
        """
        port = await self._port.open(host, port)
        self.endpoint = f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"

    async def stop(self) -> None:
        """Close the port."""
        await self._port.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        exchange = _Hearing()
        with exchange.guarded():
            # Of the headers nothing is demanded: what comes is what the check is about.
            post = Post((await read_post(request)).body)
            exchange.answer(await self._handle(exchange.read(post), exchange.body))
        return response(exchange.reply)


class CallbackListener:
    """Hears answers that come as a POST to ``referee_endpoint``."""

    def __init__(self) -> None:
        self._listener = Listener(self._take)
        self._kept: dict[tuple[str, str], asyncio.Queue[dict[str, Any]]] = {}

    async def start(self, host: str) -> None:
        """Open a free port.

        Raises:
            OSError: the host is none of this machine's.
        """
        await self._listener.start(host)

    async def stop(self) -> None:
        """Close it."""
        await self._listener.stop()

    @property
    def endpoint(self) -> str:
        """The address for ``referee_endpoint``."""
        return self._listener.endpoint

    async def heard(self, match_id: str, asked: str, *, limit_s: float) -> Mapping[str, Any] | None:
        """See :class:`league_sdk.conformance.exchange.Callbacks`."""
        kind = "join" if asked == MessageType.GAME_INVITATION else "move"
        queue = self._queue(match_id, kind)
        try:
            async with asyncio.timeout(limit_s):
                return await queue.get()
        except TimeoutError:
            return None

    async def _take(self, found: inbound.Inbound, body: Any) -> dict[str, Any]:
        match_id = found.message.get("match_id")
        if found.name in ANSWERS and isinstance(match_id, str) and len(self._kept) < MOST_KEPT:
            kind = "move" if found.name in _MOVES else "join"
            self._queue(match_id, kind).put_nowait(found.message)
        return {"status": "RECEIVED"}

    def _queue(self, match_id: str, kind: str) -> asyncio.Queue[dict[str, Any]]:
        return self._kept.setdefault((match_id, kind), asyncio.Queue())
