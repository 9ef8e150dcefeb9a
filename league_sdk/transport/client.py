"""The HTTP client for matches. A call has one limit in time and one in size, follows no redirect and uses no proxy.

It uses aiohttp's session directly. A call to an agent must have no redirects, cookies, authentication or hooks, and
in a client library around the session they would cost more than the call itself.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import aiohttp
from aiohttp.abc import ResolveResult

from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.calls import Broken, CallFailed, NotReached, Reply, TimedOut
from league_sdk.protocol.faults import Cause
from league_sdk.transport.connection import LimitedConnection
from league_sdk.transport.failures import failure, out_of_time
from league_sdk.transport.limit import within
from league_sdk.transport.lookups import LOOKUPS, Lookups
from league_sdk.transport.policy import EndpointPolicy, Forbidden, PolicyResolver, guarded_socket
from league_sdk.transport.replies import Received, receive

__all__ = ["Broken", "CallFailed", "Caller", "Client", "NotReached", "Reply", "SupportsPost", "TimedOut"]

KEEPALIVE_S = 2.0
"""Common agent servers close an idle connection after five seconds: we close it first."""
_NO_LIMIT = aiohttp.ClientTimeout()


class SupportsPost(Protocol):
    """What requests can be sent with: a :class:`Caller`, or a part of one."""

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """Like :meth:`Client.post`."""


class Caller(SupportsPost, Protocol):
    """Calls agents at their addresses, as a :class:`Client` does, or one agent by whichever way it is reached."""

    def under_same_policy(self, agent_type: str) -> Caller:
        """Like :meth:`Client.under_same_policy`."""

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> int | None:
        """Like :meth:`Client.delete`; does nothing and returns None for an agent without an address."""

    async def aclose(self) -> None:
        """Like :meth:`Client.aclose`."""


@dataclass(slots=True)
class _Progress:
    """How far a call has come: what it waits for, and over which connection."""

    waits_for: Cause = Cause.CONNECT
    connection: LimitedConnection | None = None


_PROGRESS: ContextVar[_Progress] = ContextVar("progress of a call")


class _Resolver(PolicyResolver):
    def __init__(self, policy: EndpointPolicy, lookups: Lookups, own_cause: Cause) -> None:
        super().__init__(policy, lookups)
        self._own_cause = own_cause

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        progress = _PROGRESS.get()
        progress.waits_for = Cause.NAME_LOOKUP
        try:
            results = await super().resolve(host, port, family)
        except asyncio.CancelledError:
            # If names of other zones hold our lookup threads, the delay is our fault and not this agent's.
            if self._lookups.waits_for_others(host):
                progress.waits_for = self._own_cause
            raise
        progress.waits_for = Cause.CONNECT
        return results


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory: Any = partial(LimitedConnection, loop=self._loop)

    async def connect(self, *args: Any, **more: Any) -> Any:
        connection = await super().connect(*args, **more)
        limited = cast("LimitedConnection", connection.protocol)
        limited.begin_call()
        progress = _PROGRESS.get()
        progress.waits_for, progress.connection = Cause.DEADLINE, limited
        return connection


class Client:
    """Calls agents.

    Args:
        agent_type: who is calling, for ``User-Agent: <agent_type>/<version>`` (000 section 8).
        policy: which addresses may be called.
        max_connections: how many connections may be open at the same time.
        lookups: looks names up.
    """

    def __init__(
        self,
        *,
        agent_type: str,
        policy: EndpointPolicy | None = None,
        max_connections: int = 512,
        lookups: Lookups = LOOKUPS,
    ) -> None:
        self._policy = policy or EndpointPolicy()
        self._lookups = lookups
        self._own_cause = Cause.LEAGUE if agent_type == "league_manager" else Cause.REFEREE
        self._max = max_connections
        self._headers = {
            "content-type": "application/json",
            # MCP servers insist on being offered both.
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "user-agent": f"{agent_type}/{SDK_VERSION}",
        }
        self._session: aiohttp.ClientSession | None = None

    @property
    def policy(self) -> EndpointPolicy:
        """Which addresses may be called."""
        return self._policy

    def _opened(self) -> aiohttp.ClientSession:
        """The session, opened at the first call: it belongs to the event loop that runs then."""
        if self._session is None:
            self._session = self._open()
        return self._session

    def under_same_policy(self, agent_type: str) -> Client:
        """A client of another agent, with connections of its own."""
        return Client(agent_type=agent_type, policy=self._policy, max_connections=self._max, lookups=self._lookups)

    def _open(self) -> aiohttp.ClientSession:
        connector = _Connector(
            limit=self._max,
            keepalive_timeout=KEEPALIVE_S,
            resolver=_Resolver(self._policy, self._lookups, self._own_cause),
            use_dns_cache=False,
            # Checks the address of each connection, also where no name was looked up.
            socket_factory=partial(guarded_socket, self._policy),
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=_NO_LIMIT,
            auto_decompress=False,
            trust_env=False,
            max_line_size=8190,
            max_field_size=8190,
        )

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """POST a JSON body and read the JSON answer.

        Args:
            message: bytes (or pieces of bytes, with their length in the headers) are sent as they are; anything else is
                sent as JSON.
            limit_s: seconds for everything: connecting, sending, waiting, reading.
            headers: in addition to our own, such as a session's (:mod:`league_sdk.dialects.session`).

        Raises:
            TimedOut: E001.
            NotReached, Broken: E009.
        """
        content = message if isinstance(message, (bytes, AsyncIterable)) else rpc.dumps(message)
        started_at = time.monotonic()
        progress = _Progress()
        _PROGRESS.set(progress)
        try:
            # Call the address as the policy read it: every library reads that spelling alike.
            called = self._policy.check_url(url).url
            async with within(limit_s):
                received = await self._send_again_if_stale(called, content, headers)
        except TimeoutError:
            raise out_of_time(progress.waits_for, limit_s) from None
        except Forbidden as error:
            raise NotReached(str(error), connected=False) from None
        except CallFailed:
            raise
        except (aiohttp.ClientError, zlib.error, OSError, ValueError) as error:
            raise failure(error, self._own_cause) from None
        more_behind = progress.connection is not None and len(progress.connection) > 0
        return received.reply(time.monotonic() - started_at, more_behind=more_behind)

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> int | None:
        """DELETE something at an address, within ``limit_s`` seconds: the HTTP status, or None if no answer came.

        None also means that the policy does not allow the call.
        """
        _PROGRESS.set(_Progress())
        with suppress(TimeoutError, Forbidden, aiohttp.ClientError, OSError, ValueError):
            called = self._policy.check_url(url).url
            deleting = self._opened().delete(called, headers=headers, allow_redirects=False)
            async with within(limit_s), deleting as answer:
                # The body is not read.
                return answer.status
        return None

    async def _send_again_if_stale(
        self, url: str, content: bytes | AsyncIterable[bytes], headers: Mapping[str, str] | None
    ) -> Received:
        """Send; again over another connection if the other side had closed a kept connection before it answered.

        Many servers close a connection after an error without saying so, which is not the agent's fault. Whatever we
        send may arrive twice (ruling, sections 6 and 10); all tries share one limit. If a new connection breaks, the
        call fails, so the loop ends at the latest when no kept connection is left. A body in pieces is sent only once.
        """
        progress = _PROGRESS.get()
        while True:
            try:
                return await self._send(url, content, headers)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                connection = progress.connection
                if not isinstance(content, bytes) or connection is None or not connection.was_stale:
                    raise
                progress.waits_for, progress.connection = Cause.CONNECT, None

    async def _send(
        self, url: str, content: bytes | AsyncIterable[bytes], headers: Mapping[str, str] | None
    ) -> Received:
        async with self._opened().post(url, data=content, headers=headers, allow_redirects=False) as response:
            old_http = response.version is not None and response.version < aiohttp.HttpVersion11
            raw_headers, parts = response.raw_headers, response.content.iter_any()
            return await receive(response.status, old_http=old_http, raw_headers=raw_headers, parts=parts)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
