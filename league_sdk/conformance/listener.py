"""A small HTTP server for requests that the agent under check sends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from league_sdk.dialects import inbound
from league_sdk.dialects.exchange import AnyDialect
from league_sdk.protocol.dispatch import Post, Reply
from league_sdk.serving import Port, read_post, response

Handler = Callable[[inbound.Inbound, Any, str], Awaitable[dict[str, Any]]]
"""Called with a message, the decoded body it came in, and the path; returns the answer, or raises LeagueError."""


async def own_address(url: str) -> str:
    """The address of this machine by which an agent can reach it.

    Args:
        url: the agent's address.

    Raises:
        OSError: there is no route to the agent.
    """
    return await asyncio.to_thread(_own_address, url)


def _own_address(url: str) -> str:
    parts = urlsplit(url)
    addresses = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM)
    family, kind, protocol, _, agent_address = addresses[0]
    with socket.socket(family, kind, protocol) as probe:
        # To connect a datagram socket sends nothing: it only picks the route.
        probe.connect(agent_address)
        return str(probe.getsockname()[0])


class Listener:
    """Serves ``POST`` on every path of one port.

    Args:
        handle: answers a message.

    Attributes:
        minds_headers: whether a request with wrong headers is refused, as a strict server does; else the check hears it
            all the same.
    """

    minds_headers = False

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._port = Port(self._serve)
        self.endpoint = ""

    async def start(self, host: str, port: int = 0) -> None:
        """Open a port, a free one for 0; :attr:`endpoint` is the address then.

        Raises:
            OSError: the host is no address of this machine, or the port is taken.
        """
        port = await self._port.open(host, port)
        self.endpoint = f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"

    async def stop(self) -> None:
        """Close the port."""
        await self._port.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        exchange = AnyDialect()
        with exchange.guarded():
            post = await read_post(request)
            await self._hear(
                post if self.minds_headers else replace(post, content_type="", authorization=""), exchange, request.path
            )
        return response(exchange.reply)

    async def hear(self, body: bytes, path: str = "/mcp") -> Reply:
        """What a request with this body is answered."""
        exchange = AnyDialect()
        with exchange.guarded():
            await self._hear(Post(body), exchange, path)
        return exchange.reply

    async def _hear(self, post: Post, exchange: AnyDialect, path: str) -> None:
        exchange.answer(await self._handle(exchange.read(post), exchange.body, path))
