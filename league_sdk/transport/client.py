"""The one HTTP client. A call has one limit in time and in size, follows no redirect, uses no proxy.

aiohttp's session without a client of another library around it: redirects, cookies, authentication and
hooks are what a call to an agent must not have, and they cost more than the call itself.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from json import detect_encoding
from typing import Any, cast

import aiohttp
from aiohttp.abc import ResolveResult

from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.errors import NotJson
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.limits import MAX_ANSWER_BYTES, MAX_TRANSCRIPT_BODY_BYTES
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.transport.failures import Broken, CallFailed, NotReached, TimedOut, failure, out_of_time
from league_sdk.transport.limit import within
from league_sdk.transport.lookups import LOOKUPS
from league_sdk.transport.measured import Measured
from league_sdk.transport.policy import EndpointPolicy, Forbidden, PolicyResolver, guarded_socket

__all__ = ["Broken", "CallFailed", "Client", "NotReached", "Reply", "TimedOut", "answer_in_stream"]

MAX_TEXT_BYTES = 2000
"""Of a body that could not be read, for people."""
KEEPALIVE_S = 2.0
"""Below the five seconds after which common agent servers close an idle connection under us."""
MOST_LOOKS = 20
"""So often an open stream is read for an answer; after that its end is waited for."""
_NO_LIMIT = aiohttp.ClientTimeout()
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
        notes: what was odd about it and did no harm.
    """

    status: int
    body: Any
    problem: str
    elapsed_s: float
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    notes: tuple[Note, ...] = field(default=(), compare=False, repr=False)


class _Way:
    """How far a call has come: what it waits for, and over which connection."""

    __slots__ = ("protocol", "waits_for")

    def __init__(self) -> None:
        self.waits_for = Cause.CONNECT
        self.protocol: Measured | None = None


_WAY: ContextVar[_Way] = ContextVar("way of a call")


class _Resolver(PolicyResolver):
    def __init__(self, policy: EndpointPolicy, caller: Cause) -> None:
        super().__init__(policy)
        self._caller = caller

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        way = _WAY.get()
        way.waits_for = Cause.NAME_LOOKUP
        try:
            found = await super().resolve(host, port, family)
        except asyncio.CancelledError:
            # Where other zones' names hold our threads, waiting for one is nothing that this agent is to blame for.
            if LOOKUPS.waits_for_others(host):
                way.waits_for = self._caller
            raise
        way.waits_for = Cause.CONNECT
        return found


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory: Any = partial(Measured, loop=self._loop)

    async def connect(self, *args: Any, **more: Any) -> Any:
        connection = await super().connect(*args, **more)
        way = _WAY.get()
        protocol = cast("Measured", connection.protocol)
        protocol.begin()
        way.waits_for, way.protocol = Cause.DEADLINE, protocol
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
        self._session: aiohttp.ClientSession | None = None

    @property
    def policy(self) -> EndpointPolicy:
        """Which addresses may be called."""
        return self._policy

    def _open(self) -> aiohttp.ClientSession:
        """Made at the first call: it belongs to the event loop that runs then."""
        connector = _Connector(
            limit=self._max,
            keepalive_timeout=KEEPALIVE_S,
            resolver=_Resolver(self._policy, self._caller),
            use_dns_cache=False,
            # Asked for each connection with the very address that it is made to, also where no name was looked up.
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
            # What is called is the address as it was read, in a spelling that is read the same everywhere.
            called = self._policy.check_url(url).url
            session = self._session = self._session or self._open()
            # The whole call stands under one limit; the session has none of its own.
            async with (
                within(limit_s),
                session.post(called, data=content, headers=headers, allow_redirects=False) as response,
            ):
                seen = _readable(response)
                raw = await _read(response, seen)
        except TimeoutError:
            raise out_of_time(way.waits_for, limit_s) from None
        except Forbidden as error:
            raise NotReached(str(error), connected=False) from None
        except CallFailed:
            raise
        except (aiohttp.ClientError, zlib.error, OSError, ValueError) as error:
            raise failure(error, self._caller) from None
        body, problem = _decoded(raw, seen.get("content-type", ""))
        text = raw[:MAX_TEXT_BYTES].decode("utf-8", "replace") if problem else ""
        notes = _oddities(response, raw, seen)
        if way.protocol is not None and len(way.protocol):
            notes.append(note(Code.MORE_BEHIND))
        return Reply(response.status, body, problem, time.monotonic() - begun, seen, text, tuple(notes))

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()


def _readable(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers, names in lower case; what stands in several goes together, what is no text is replaced."""
    found: dict[str, str] = {}
    for name, value in response.headers.items():
        text = value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        low = name.lower()
        found[low] = f"{found[low]}, {text}" if low in found else text
    return found


async def _read(response: aiohttp.ClientResponse, headers: Mapping[str, str]) -> bytes:
    """The body, unpacked; of a stream of events the data of the one that matters."""
    unpack = _unpacker(headers.get("content-encoding", ""))
    events = headers.get("content-type", "").lower().startswith("text/event-stream")
    raw, looks, came, looked_at = bytearray(), 0, 0, 0
    async for part in response.content.iter_any():
        # Never more than the limit is unpacked: a small body could hold gigabytes, and an endless one nothing.
        raw += unpack.decompress(part, MAX_ANSWER_BYTES + 1 - len(raw)) if unpack else part
        came += len(part)
        if max(len(raw), came) > MAX_ANSWER_BYTES:
            raise Broken(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", connected=True)
        # Some servers leave their stream open behind the answer.
        if events and looks < MOST_LOOKS and raw.endswith((b"\n\n", b"\r\n\r\n")):
            looks += 1
            if answer := _answer_among(bytes(raw[looked_at:])):
                return answer
            looked_at = len(raw)
    return answer_in_stream(bytes(raw)) if events else bytes(raw)


def _oddities(response: aiohttp.ClientResponse, raw: bytes, headers: Mapping[str, str]) -> list[Note]:
    """What an answer had that a tidy one has not; it was read all the same."""
    notes: list[Note] = []
    if response.version is not None and response.version < aiohttp.HttpVersion11:
        notes.append(note(Code.OLD_HTTP))
    if headers.get("content-encoding"):
        notes.append(note(Code.PACKED))
    kind = headers.get("content-type", "")
    charset = _charset(kind)
    if raw.strip() and (encoding := _encoding(raw, kind)) != "utf-8":
        notes.append(note(Code.ENCODING, seen=encoding))
    elif charset not in ("", "utf-8", "utf8", "ascii", "us-ascii"):
        notes.append(note(Code.CHARSET, seen=charset[:20]))
    if len(raw) > MAX_TRANSCRIPT_BODY_BYTES:
        notes.append(note(Code.LARGE, size=len(raw)))
    return notes


def _unpacker(encoding: str) -> Any:
    """What unpacks a body that was compressed although we ask for none; None for a plain one."""
    if encoding.strip().lower() in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32)
    return None


def answer_in_stream(raw: bytes) -> bytes:
    """The JSON of a whole ``text/event-stream`` body: its first response, else its last event that holds anything."""
    return _answer_among(raw, default=True)


def _answer_among(raw: bytes, *, default: bool = False) -> bytes:
    """The first event that is a JSON-RPC response; else empty, or the last one that holds anything."""
    events = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
    for event in events:
        # Of a long stream most cannot be one, and are not read.
        if b'"jsonrpc"' not in event:
            continue
        data = _data(event)
        try:
            value = rpc.loads(data)
        except NotJson:
            continue
        # Notifications (progress, logging) may come before the answer.
        if isinstance(value, dict) and "jsonrpc" in value and ("result" in value or "error" in value):
            return data
    return next((data for event in reversed(events) if (data := _data(event))), b"") if default else b""


def _data(event: bytes) -> bytes:
    """The data of an event, which may not be complete."""
    return b"\n".join(line[len(b"data:") :].strip() for line in event.split(b"\n") if line.startswith(b"data:"))


def _charset(content_type: str) -> str:
    return content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")


def _encoding(raw: bytes, content_type: str) -> str:
    return CHARSETS.get(_charset(content_type)) or detect_encoding(raw)


def _decoded(raw: bytes, content_type: str) -> tuple[Any, str]:
    """The JSON of a body, or None and why not; Unicode with a byte order mark is read, too (RFC 8259 8.1)."""
    if not raw.strip():
        return None, ""
    encoding = _encoding(raw, content_type)
    try:
        if encoding != "utf-8":
            raw = raw.decode(encoding).encode()
        return rpc.loads(raw), ""
    except UnicodeError as error:
        return None, f"The body is not valid {encoding} text: {getattr(error, 'reason', error)}."
    except NotJson as error:
        return None, error.message
