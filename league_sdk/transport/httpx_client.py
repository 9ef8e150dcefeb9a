"""The HTTP client for calls outside matches: httpx, over the connections of the client for matches.

So one place decides for both which addresses are called, how much of an answer is read and for how long; and a check
finds what a league would find, because the same code sends and parses the bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import aiohttp
import httpx

from league_sdk.protocol.calls import NotReached
from league_sdk.protocol.notes import Code, note
from league_sdk.transport.client import Client
from league_sdk.transport.replies import Received, receive


class HttpxClient(Client):
    """A client for calls outside matches: in checks and practice matches, and from a referee to the league manager."""

    async def _send(
        self, url: str, content: bytes | AsyncIterable[bytes], headers: Mapping[str, str] | None
    ) -> Received:
        try:
            request = httpx.Request("POST", url, content=content, headers=headers)
        except httpx.InvalidURL:
            raise NotReached(note(Code.BAD_ADDRESS), connected=False) from None
        # httpx.AsyncClient is not used: it keeps cookies, and fails on a redirect to an address that it cannot read,
        # while the client for matches returns the reply.
        transport = GuardedTransport(self._opened())
        async with aclosing(await transport.handle_async_request(request)) as response:
            old_http = response.http_version in ("HTTP/0.9", "HTTP/1.0")
            raw_headers, parts = response.headers.raw, response.aiter_raw()
            return await receive(response.status_code, old_http=old_http, raw_headers=raw_headers, parts=parts)


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends httpx's requests through an aiohttp session, whose connections go to allowed addresses only.

    Args:
        session: the session of a :class:`Client`, which closes it.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            aiohttp.ClientError, OSError: as from the session.
        """
        content: Any
        try:
            # In one piece: some agents read a request by a single call of the system.
            content = request.content
        except httpx.RequestNotRead:
            content = request.stream
        # The names of headers keep their spelling: some agents know Content-Length and not content-length.
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        response = await self._session.request(
            request.method, str(request.url), data=content, headers=headers, allow_redirects=False
        )
        version = response.version or aiohttp.HttpVersion11
        return httpx.Response(
            response.status,
            headers=response.raw_headers,
            stream=_Body(response),
            request=request,
            extensions={"http_version": f"HTTP/{version.major}.{version.minor}".encode()},
        )


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._response.content.iter_any():
            yield part

    async def aclose(self) -> None:
        self._response.release()
        await self._response.wait_for_close()
