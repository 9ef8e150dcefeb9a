"""The one HTTP client. A call has one limit in time and in size, follows no redirect, uses no proxy.

httpx's requests and transport, without its client around them: redirects, cookies, authentication and
hooks are what a call to an agent must not have, and they cost more than the call itself.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from json import detect_encoding
from typing import Any

import aiohttp
import httpx
from aiohttp.abc import ResolveResult
from httpx_aiohttp import AiohttpTransport

from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.errors import NotJson
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.transport.failures import Broken, CallFailed, NotReached, TimedOut, failure, out_of_time
from league_sdk.transport.policy import EndpointPolicy, Forbidden, PolicyResolver

__all__ = ["Broken", "CallFailed", "Client", "NotReached", "Reply", "TimedOut", "answer_in_stream"]

MAX_TEXT_BYTES = 2000
"""Of a body that could not be read, for people."""
KEEPALIVE_S = 2.0
"""Below the five seconds after which common agent servers close an idle connection under us."""
MOST_LOOKS = 20
"""So often an open stream is read for an answer; after that its end is waited for."""
CHARSETS = {"iso-8859-1": "cp1252", "latin-1": "cp1252"} | {
    name: name for name in ("windows-1252", "windows-1255", "iso-8859-8", "iso-8859-15")
}
"""Declared by servers whose machines are not set to UTF-8, and how each is read; all others must be Unicode."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes:
        status: the HTTP status.
        body: the decoded JSON, or None when it was empty or none.
        problem: why the body could not be read, else empty.
        elapsed_s: seconds since the request was sent.
        headers: of the answer, names in lower case.
        text: the beginning of a body that could not be read.
    """

    status: int
    body: Any
    problem: str
    elapsed_s: float
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)


class _Way:
    """How far a call has come: what it waits for."""

    __slots__ = ("waits_for",)

    def __init__(self) -> None:
        self.waits_for = Cause.CONNECT


_WAY: ContextVar[_Way] = ContextVar("way of a call")


class _Resolver(PolicyResolver):
    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        way = _WAY.get()
        way.waits_for = Cause.NAME_LOOKUP
        found = await super().resolve(host, port, family)
        way.waits_for = Cause.CONNECT
        return found


class _Connector(aiohttp.TCPConnector):
    async def connect(self, *args: Any, **more: Any) -> Any:
        connection = await super().connect(*args, **more)
        _WAY.get().waits_for = Cause.DEADLINE
        return connection


class Client:
    """Calls agents.

    Args:
        agent_type: who is calling, for ``User-Agent: <agent_type>/<version>`` (000 section 8).
        policy: which addresses may be called.
        max_connections: at the same time.
    """

    def __init__(self, *, agent_type: str, policy: EndpointPolicy | None = None, max_connections: int = 512) -> None:
        self._policy = policy or EndpointPolicy()
        self._caller = Cause.LEAGUE if agent_type == "league_manager" else Cause.REFEREE
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
        connector = _Connector(
            limit=self._max,
            keepalive_timeout=KEEPALIVE_S,
            resolver=_Resolver(self._policy),
            use_dns_cache=False,
        )
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), max_line_size=8190, max_field_size=8190
        )

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """POST a JSON body and read the JSON answer.

        Args:
            url: the agent's endpoint.
            message: what to send; encoded here.
            limit_s: seconds for everything: connecting, sending, waiting, reading.
            headers: beside our own, such as a session's (:mod:`league_sdk.dialects.session`).

        Raises:
            TimedOut: E001.
            NotReached, Broken: E009.
        """
        content = message if isinstance(message, bytes) else rpc.dumps(message)
        begun = time.monotonic()
        way = _Way()
        _WAY.set(way)
        try:
            self._policy.check_url(url)
            request = httpx.Request("POST", url, content=content, headers=self._headers | dict(headers or {}))
            # The whole call stands under one limit; the transport has none of its own.
            async with asyncio.timeout(limit_s):
                response = await self._transport.handle_async_request(request)
                try:
                    raw = await _read(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise out_of_time(way.waits_for, limit_s) from None
        except Forbidden as error:
            raise NotReached(str(error), connected=False) from None
        except CallFailed:
            raise
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, zlib.error, OSError, ValueError) as error:
            raise failure(error, self._caller) from None
        body, problem = _decoded(raw, response.headers.get("content-type", ""))
        seen = {name.lower(): value for name, value in response.headers.items()}
        text = raw[:MAX_TEXT_BYTES].decode("utf-8", "replace") if problem else ""
        return Reply(response.status_code, body, problem, time.monotonic() - begun, seen, text)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


async def _read(response: httpx.Response) -> bytes:
    """The body, unpacked; of a stream of events the data of the one that matters."""
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    raw, looks = bytearray(), 0
    async for part in response.aiter_raw():
        # Never more than the limit is unpacked: a small body could hold gigabytes.
        raw += unpack.decompress(part, MAX_ANSWER_BYTES + 1 - len(raw)) if unpack else part
        if len(raw) > MAX_ANSWER_BYTES:
            raise Broken(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", connected=True)
        # Some servers leave their stream open behind the answer.
        if events and looks < MOST_LOOKS and raw.endswith((b"\n\n", b"\r\n\r\n")):
            looks += 1
            if answer := _answer_among(_events(bytes(raw))):
                return answer
    return answer_in_stream(bytes(raw)) if events else bytes(raw)


def _unpacker(encoding: str) -> Any:
    """What unpacks a body that was compressed although we ask for none; None for a plain one."""
    if encoding.strip().lower() in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32)
    return None


def _events(raw: bytes) -> list[bytes]:
    """The data of each event of a stream; the last one may not be complete."""
    blocks = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
    return [
        b"\n".join(line[len(b"data:") :].strip() for line in block.split(b"\n") if line.startswith(b"data:"))
        for block in blocks
    ]


def answer_in_stream(raw: bytes) -> bytes:
    """The JSON of a whole ``text/event-stream`` body: its first response, else its last event that holds anything."""
    return _answer_among(_events(raw), default=True)


def _answer_among(events: list[bytes], *, default: bool = False) -> bytes:
    """The first event that is a JSON-RPC response; else empty, or the last one that holds anything."""
    for data in events:
        try:
            value = rpc.loads(data) if data else None
        except NotJson:
            continue
        # Notifications (progress, logging) may come before the answer.
        if isinstance(value, dict) and "jsonrpc" in value and ("result" in value or "error" in value):
            return data
    return next((data for data in reversed(events) if data), b"") if default else b""


def _decoded(raw: bytes, content_type: str) -> tuple[Any, str]:
    """The JSON of a body, or None and why not; Unicode with a byte order mark is read, too (RFC 8259 8.1)."""
    if not raw.strip():
        return None, ""
    charset = content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    encoding = CHARSETS.get(charset) or detect_encoding(raw)
    try:
        if encoding != "utf-8":
            raw = raw.decode(encoding).encode()
        return rpc.loads(raw), ""
    except UnicodeError as error:
        return None, f"The body is not valid {encoding} text: {getattr(error, 'reason', error)}."
    except NotJson as error:
        return None, error.message
