"""The one HTTP client. A call has one limit in time and in size, follows no redirect, uses no proxy."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import aiohttp

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
        body: the decoded JSON, or None when it was none.
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
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": f"{agent_type}/{SDK_VERSION}",
        }
        self._made: aiohttp.ClientSession | None = None

    def _session(self) -> aiohttp.ClientSession:
        """Made at the first call: it belongs to the event loop that runs then."""
        if self._made is None:
            connector = aiohttp.TCPConnector(
                limit=self._max,
                keepalive_timeout=KEEPALIVE_S,
                resolver=PolicyResolver(self._policy),
                use_dns_cache=False,
            )
            self._made = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                # The whole call stands under one asyncio timeout instead.
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                max_line_size=8190,
                max_field_size=8190,
            )
        return self._made

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
            async with (
                asyncio.timeout(limit_s),
                self._session().post(url, data=content, allow_redirects=False) as response,
            ):
                raw = await _read(response)
                status = response.status
        except TimeoutError:
            raise TimedOut(f"no answer within {limit_s:g} s", connected=True) from None
        except Forbidden as error:
            raise NotReached(str(error), connected=False) from None
        except CallFailed:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _failure(error) from None
        elapsed = time.monotonic() - begun
        try:
            return Reply(status, rpc.loads(raw), "", elapsed)
        except NotJson as error:
            return Reply(status, None, error.message, elapsed)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._made is not None:
            await self._made.close()


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise Broken(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", connected=True)
        parts.append(part)
    return b"".join(parts)


def _failure(error: Exception) -> CallFailed:
    """Say what happened; what was before the connection stood is told from what came after."""
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError)):
        return NotReached("the address cannot be read", connected=False)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return NotReached("the name of the address is not known", connected=False)
    if isinstance(error, aiohttp.ClientConnectorError):
        return NotReached(f"no connection: {error.os_error.strerror or error.os_error}", connected=False)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Broken("the connection was closed without an answer", connected=True)
    return Broken(f"the connection broke off ({type(error).__name__})", connected=True)
