"""JSON-RPC over HTTP at a port of our own, with a limit on what is read: players and the listeners of a check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from league_sdk.protocol.dispatch import Post, Reply
from league_sdk.protocol.errors import TooLarge
from league_sdk.protocol.limits import MAX_BODY_BYTES


class Port:
    """Serves one port, every path of it.

    Args:
        handle: answers a request of HTTP.
    """

    def __init__(self, handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        self._handle = handle
        self._runner: web.ServerRunner | None = None

    async def open(self, host: str, port: int = 0) -> int:
        """Begin to listen, so that the port is there before anyone is told about it.

        Args:
            host: the address to listen at.
            port: 0 for a free one.

        Returns:
            The port.

        Raises:
            OSError: it is taken, or the host is none of this machine's.
        """
        # web.Server and not web.Application: no router, no middleware; this is the hot path of the benchmark.
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        return int(runner.addresses[0][1])

    async def close(self) -> None:
        """Close the port at once; calls under way are dropped."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


async def read_post(request: web.BaseRequest) -> Post:
    """The request with its body, which may be one that does not announce its length.

    Raises:
        TooLarge: the body is over 64 KiB; the rest of it is not read.
    """
    check_length(request)
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise too_large()
    return post_of(request, bytes(body))


def post_of(request: web.BaseRequest, body: bytes) -> Post:
    """A request whose body has been read."""
    return Post(body, request.headers.get("Content-Type", ""), request.headers.get("Authorization", ""))


def check_length(request: web.BaseRequest) -> None:
    """Refuse a body that says itself that it is too large, before it is read.

    Raises:
        TooLarge: it does.
    """
    if request.content_length is not None and request.content_length > MAX_BODY_BYTES:
        raise too_large()


def too_large() -> TooLarge:
    """The refusal of a body over 64 KiB."""
    seen, expected = f"more than {MAX_BODY_BYTES} bytes", f"at most {MAX_BODY_BYTES} bytes"
    return TooLarge("The body is too large.", field="body", seen=seen, expected=expected)


def response(reply: Reply) -> web.Response:
    """A reply for aiohttp."""
    if reply.body is None:
        return web.Response(status=reply.status, headers=reply.headers)
    return web.Response(body=reply.body, status=reply.status, headers=reply.headers, content_type="application/json")
