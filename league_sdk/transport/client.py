"""The one HTTP client. A call has one limit in time and in size, follows no redirect, uses no proxy.

httpx's requests and transport, without its client around them: redirects, cookies, authentication and
hooks are what a call to an agent must not have, and they cost more than the call itself.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.errors import NotJson
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.transport.policy import EndpointPolicy, Forbidden, PolicyResolver

KEEPALIVE_S = 2.0
"""Below the five seconds after which common agent servers close an idle connection under us."""


class CallFailed(Exception):
    """No usable HTTP answer came.

    Attributes:
        error_code: E001 (out of time) or E009 (everything else).
        connected: whether the request may have reached the agent.
    """

    error_code = "E009"

    def __init__(self, sentence: str, *, connected: bool) -> None:
        super().__init__(sentence)
        self.connected = connected


class TimedOut(CallFailed):
    error_code = "E001"


class NotReached(CallFailed):
    """Refused, unreachable, unknown name, or not allowed by the policy."""


class Broken(CallFailed):
    """The connection or the answer broke off, or the answer was too large."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes:
        status: the HTTP status.
        body: the decoded JSON, or None when it was empty or none.
        problem: why the body could not be read, else empty.
        elapsed_s: seconds since the request was sent.
    """

    status: int
    body: Any
    problem: str
    elapsed_s: float


class Client:
    """Calls agents.

    Args:
        agent_type: who is calling, for ``User-Agent: <agent_type>/<version>`` (000 section 8).
        policy: which addresses may be called.
        max_connections: at the same time.
    """

    def __init__(self, *, agent_type: str, policy: EndpointPolicy | None = None, max_connections: int = 512) -> None:
        self._policy = policy or EndpointPolicy()
        self._max = max_connections
        self._headers = {
            "content-type": "application/json",
            # Servers of the Model Context Protocol insist on being offered both.
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "user-agent": f"{agent_type}/{SDK_VERSION}",
        }
        self._transport = AiohttpTransport(client=self._session, trust_env=False)

    @property
    def policy(self) -> EndpointPolicy:
        """Which addresses may be called."""
        return self._policy

    def _session(self) -> aiohttp.ClientSession:
        """Made by the transport at the first call: it belongs to the event loop that runs then."""
        connector = aiohttp.TCPConnector(
            limit=self._max,
            keepalive_timeout=KEEPALIVE_S,
            resolver=PolicyResolver(self._policy),
            use_dns_cache=False,
        )
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), max_line_size=8190, max_field_size=8190
        )

    async def post(self, url: str, message: Any, *, limit_s: float) -> Reply:
        """POST a JSON body and read the JSON answer.

        Args:
            url: the agent's endpoint.
            message: what to send; encoded here.
            limit_s: seconds for everything: connecting, sending, waiting, reading.

        Raises:
            TimedOut: E001.
            NotReached, Broken: E009.
        """
        content = message if isinstance(message, bytes) else rpc.dumps(message)
        begun = time.monotonic()
        try:
            self._policy.check_url(url)
            request = httpx.Request("POST", url, content=content, headers=self._headers)
            # The whole call stands under one limit; the transport has none of its own.
            async with asyncio.timeout(limit_s):
                response = await self._transport.handle_async_request(request)
                try:
                    raw = await _read(response)
                finally:
                    await response.aclose()
            status = response.status_code
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                raw = _last_event(raw)
        except TimeoutError:
            raise TimedOut(f"no answer within {limit_s:g} s", connected=True) from None
        except Forbidden as error:
            raise NotReached(str(error), connected=False) from None
        except CallFailed:
            raise
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, ValueError) as error:
            raise _failure(error) from None
        elapsed = time.monotonic() - begun
        if not raw.strip():
            return Reply(status, None, "", elapsed)
        try:
            return Reply(status, rpc.loads(raw), "", elapsed)
        except NotJson as error:
            return Reply(status, None, error.message, elapsed)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


async def _read(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise Broken(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", connected=True)
        parts.append(part)
    return b"".join(parts)


def _last_event(raw: bytes) -> bytes:
    """The data of the last event of a stream: a server that streams its answer sends it last."""
    events = raw.replace(b"\r\n", b"\n").strip().split(b"\n\n")
    lines = [line for line in events[-1].split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(line[len(b"data:") :].strip() for line in lines)


def _failure(error: Exception) -> CallFailed:
    """Say what happened; what was before the connection stood is told from what came after."""
    cause = error.__cause__ or error
    if isinstance(cause, (httpx.InvalidURL, aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError)):
        return NotReached("the address cannot be read", connected=False)
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        return NotReached("the name of the address is not known", connected=False)
    if isinstance(cause, aiohttp.ClientConnectorError):
        number = cause.os_error.errno
        return NotReached(f"no connection: {os.strerror(number) if number else cause.os_error}", connected=False)
    if isinstance(cause, aiohttp.ServerDisconnectedError):
        return Broken("the connection was closed without an answer", connected=True)
    return Broken(f"the connection broke off ({type(cause).__name__})", connected=True)
