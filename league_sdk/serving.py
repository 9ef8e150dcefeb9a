"""A small HTTP server with a limit on the size of requests, used by players and by the listeners of a check.

The referee's door has a server of its own and uses the functions.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio.trsock import TransportSocket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from typing import Any

from aiohttp import web

from league_sdk.protocol.dispatch import Post, Reply
from league_sdk.protocol.errors import TooLarge
from league_sdk.protocol.limits import MAX_BODY_BYTES

AT_ONCE_S = 0.01
"""The ``shutdown_timeout`` of a server that drops the requests in progress; aiohttp takes 0 for "wait for ever"."""
_Socket = socket.socket | TransportSocket
ROUNDS_OF_ACCEPTING = 3
"""Turns of the event loop before a server closes: two until an accepted connection is known, and one to spare."""


async def clean_up(runner: web.AppRunner | web.ServerRunner, sockets: Iterable[_Socket]) -> None:
    """Stop a server and close every connection, also one that is just being accepted.

    A connection is known to the server two rounds of the event loop after it was accepted. If the server is closed
    before, asyncio and aiohttp forget the connection without closing it, and its client waits in vain.

    Args:
        sockets: the ones at which it listens.
    """
    for listening in sockets:
        # An event loop of Windows has no readers and raises this; there the server is closed as aiohttp does it.
        with suppress(NotImplementedError):
            asyncio.get_running_loop().remove_reader(listening.fileno())
    for _ in range(ROUNDS_OF_ACCEPTING):
        await asyncio.sleep(0)
    await runner.cleanup()


def listened_at(host: str, port: int) -> dict[str, Any]:
    """The arguments of ``create_server`` for an address to listen at: for ``::`` every one of both versions of IP.

    asyncio itself would take no IPv4 at ``::``, while an agent that listens there names an address of either version.

    Raises:
        OSError: the port is in use, or this machine has no IPv6.
    """
    if host != "::":
        return {"host": host, "port": port}
    return {"sock": socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)}


class Port:
    """Serves all paths of one port.

    Args:
        handle: answers an HTTP request.
    """

    def __init__(self, handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        self._handle = handle
        self._runner: web.ServerRunner | None = None
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int = 0) -> int:
        """Start listening.

        Args:
            host: the address to listen at.
            port: 0 for any free port.

        Returns:
            The port.

        Raises:
            OSError: the port is in use, or the host is not an address of this machine.
        """
        # web.Server instead of web.Application, because a router and middleware would cost time in every call.
        # By default aiohttp would unpack compressed bodies, which no server of ours takes (ruling, section 5).
        serving = web.Server(self._handle, access_log=None, auto_decompress=False)
        runner = web.ServerRunner(serving, shutdown_timeout=AT_ONCE_S)
        await runner.setup()
        try:
            # Not web.TCPSite, which does not give its sockets.
            loop = asyncio.get_running_loop()
            server = await loop.create_server(serving, **listened_at(host, port), backlog=128)
        except OSError:
            await runner.cleanup()
            raise
        self._runner, self._server = runner, server
        return int(server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Close the port at once; requests in progress are dropped."""
        if self._runner is not None and self._server is not None:
            try:
                await clean_up(self._runner, self._server.sockets)
            finally:
                self._server.close()
            self._runner = self._server = None


async def read_post(request: web.BaseRequest) -> Post:
    """Read a request with its body, also if it does not declare its length.

    Raises:
        TooLarge: the body is over 64 KiB; its rest is not read.
    """
    check_length(request)
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise too_large()
    return post_of(request, bytes(body))


def post_of(request: web.BaseRequest, body: bytes) -> Post:
    """A request whose body was read before."""
    names = ("Content-Type", "Authorization", "Content-Encoding")
    return Post(body, *(request.headers.get(name, "") for name in names))


def check_length(request: web.BaseRequest) -> None:
    """Refuse a request whose declared length is too large, before its body is read.

    Raises:
        TooLarge: the declared length is over 64 KiB.
    """
    if request.content_length is not None and request.content_length > MAX_BODY_BYTES:
        raise too_large()


def too_large() -> TooLarge:
    """The error for a body over 64 KiB."""
    seen, expected = f"more than {MAX_BODY_BYTES} bytes", f"at most {MAX_BODY_BYTES} bytes"
    return TooLarge("The body is too large.", field="body", seen=seen, expected=expected)


async def respond(request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
    """Send a reply whose body may be a stream; the stream ends when the client has gone."""
    if reply.body is None or isinstance(reply.body, bytes):
        return response(reply)
    stream = web.StreamResponse(status=reply.status, headers=reply.headers)
    # A client that closes a stream needs no further events.
    with suppress(ConnectionResetError):
        async with aclosing(reply.body) as parts:
            await stream.prepare(request)
            async for part in parts:
                await stream.write(part)
    return stream


def response(reply: Reply) -> web.Response:
    """Convert a reply to a response of aiohttp."""
    if reply.body is None:
        return web.Response(status=reply.status, headers=reply.headers)
    return web.Response(body=reply.body, status=reply.status, headers=reply.headers, content_type="application/json")
