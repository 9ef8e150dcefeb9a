"""A small HTTP server on a free port, for what agents send of their own accord."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from league_sdk.dialects import inbound
from league_sdk.dialects.words import ANSWERS
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import LeagueError, TooLarge
from league_sdk.protocol.limits import MAX_BODY_BYTES
from league_sdk.protocol.messages import MessageType

logger = logging.getLogger("league_sdk.conformance")

Handler = Callable[[Any], Awaitable[dict[str, Any] | None]]
"""Takes a decoded body, gives the whole reply; None for an empty one. May raise LeagueError."""
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


class Listener:
    """Serves ``POST`` on every path of one port.

    Args:
        handle: answers a decoded body.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._runner: web.ServerRunner | None = None
        self.endpoint = ""

    async def start(self, host: str, port: int = 0) -> None:
        """Open a port, a free one for 0; :attr:`endpoint` is the address then.

        Raises:
            OSError: the host is none of this machine's, or the port is taken.
        """
        runner = web.ServerRunner(web.Server(self._serve, access_log=None), shutdown_timeout=0)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        port = int(runner.addresses[0][1])
        self.endpoint = f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"

    async def stop(self) -> None:
        """Close the port."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        rpc_id: Any = None
        try:
            raw = bytearray()
            async for chunk in request.content.iter_any():
                raw += chunk
                if len(raw) > MAX_BODY_BYTES:
                    raise TooLarge("The body is too large.", field="body", expected=f"{MAX_BODY_BYTES} bytes")
            body = rpc.loads(bytes(raw))
            rpc_id = rpc.request_id(body)
            answer = await self._handle(body)
        except LeagueError as error:
            answer = rpc.error(rpc_id, error.rpc_code, error.message, {"error_code": error.error_code})
        if answer is None:
            return web.Response(status=204)
        return web.Response(body=rpc.dumps(answer), content_type="application/json")


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

    async def _take(self, body: Any) -> dict[str, Any] | None:
        found = inbound.read(body)
        match_id = found.message.get("match_id")
        if found.name in ANSWERS and isinstance(match_id, str) and len(self._kept) < MOST_KEPT:
            kind = "move" if found.name in _MOVES else "join"
            self._queue(match_id, kind).put_nowait(found.message)
        return None if found.notification else inbound.reply(found, {"status": "RECEIVED"})

    def _queue(self, match_id: str, kind: str) -> asyncio.Queue[dict[str, Any]]:
        return self._kept.setdefault((match_id, kind), asyncio.Queue())
