"""HTTP replies of agents, read within limits and decoded, whichever library brings them."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass
from json import detect_encoding
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.protocol.calls import Broken, Reply
from league_sdk.protocol.errors import NotJson
from league_sdk.protocol.limits import MAX_ANSWER_BYTES, MAX_TRANSCRIPT_BODY_BYTES
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import redact

MAX_TEXT_CHARS = 2000
"""How much of an unreadable body is kept for people to read."""
MAX_END_CHARS = 500
"""How much of that is the end of a longer body, where a stack trace has its exception."""
MAX_STREAM_SEARCHES = 20
"""How often an open event stream is searched for the answer; after that the end of the stream is awaited."""
CHARSETS = {"iso-8859-1": "cp1252", "latin-1": "cp1252"} | {
    name: name for name in ("windows-1252", "windows-1255", "iso-8859-8", "iso-8859-15")
}
"""Character sets that non-UTF-8 machines declare, and how each is decoded; anything else must be Unicode."""


@dataclass(frozen=True, slots=True)
class Received:
    """An HTTP reply before its body is decoded.

    Attributes:
        old_http: whether it came in a version of HTTP before 1.1.
        headers: names in lower case; repeated headers are joined, bytes that are not UTF-8 are replaced.
        raw: the body, decompressed; of an event stream the data of the answer.
    """

    status: int
    old_http: bool
    headers: Mapping[str, str]
    raw: bytes

    @AGENTS_TIME
    def reply(self, elapsed_s: float, *, more_behind: bool) -> Reply:
        """The reply with its body decoded.

        Args:
            elapsed_s: seconds since the call began.
            more_behind: whether more bytes came after the reply.
        """
        body, problem = _decoded(self.raw, self.headers.get("content-type", ""))
        text = _shortened(self.raw) if problem else ""
        notes = self._oddities() + ([note(Code.MORE_BEHIND)] if more_behind else [])
        size = 0 if self.raw.lstrip().startswith(b"<") else len(self.raw)
        return Reply(self.status, body, problem, elapsed_s, self.headers, text, tuple(notes), size=size)

    def _oddities(self) -> list[Note]:
        """Notes on what is unusual about a reply, whether its body can be read or not."""
        raw, headers = self.raw, self.headers
        notes: list[Note] = []
        if self.old_http:
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


async def receive(
    status: int, *, old_http: bool, raw_headers: Iterable[tuple[bytes, bytes]], parts: AsyncIterable[bytes]
) -> Received:
    """Read a reply.

    Args:
        raw_headers: the headers as they came.
        parts: the pieces of the body, as they come.

    Raises:
        Broken: the body is larger than :data:`MAX_ANSWER_BYTES`.
        zlib.error: the body is not compressed as its headers say.
    """
    headers: dict[str, str] = {}
    for name, value in raw_headers:
        key, text = name.decode("ascii", "replace").lower(), value.decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return Received(status, old_http, headers, await _read(parts, headers))


async def _read(parts: AsyncIterable[bytes], headers: Mapping[str, str]) -> bytes:
    compressed = headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip", "deflate")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if compressed else None
    events = headers.get("content-type", "").lower().startswith("text/event-stream")
    raw, received, searches, searched_to = bytearray(), 0, 0, 0
    async for part in parts:
        # Decompress up to the limit only: a small body could unpack to gigabytes, an endless one to nothing.
        raw += unpack.decompress(part, MAX_ANSWER_BYTES + 1 - len(raw)) if unpack else part
        received += len(part)
        if max(len(raw), received) > MAX_ANSWER_BYTES:
            raise Broken(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", connected=True)
        # Some servers leave their stream open after the answer.
        if events and searches < MAX_STREAM_SEARCHES and raw.endswith((b"\n\n", b"\r\n\r\n")):
            searches += 1
            if answer := _answer_among(bytes(raw[searched_to:])):
                return answer
            searched_to = len(raw)
    return _answer_among(bytes(raw), default=True) if events else bytes(raw)


@AGENTS_TIME
def _answer_among(raw: bytes, *, default: bool = False) -> bytes:
    """The data of the first event that is a JSON-RPC response; else, with ``default``, of the last event with data."""
    events = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
    for event in events:
        # Most events of a long stream cannot be a response: parsing them would cost too much.
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
    """The data of an event, which may be incomplete."""
    return b"\n".join(line[len(b"data:") :].strip() for line in event.split(b"\n") if line.startswith(b"data:"))


def _shortened(raw: bytes) -> str:
    """The beginning and the end of a body that could not be read."""
    # Redact before cutting: a part of a token would not be recognised as one.
    text = redact(raw.decode("utf-8", "replace"))
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[: MAX_TEXT_CHARS - MAX_END_CHARS]}\n…\n{text[-MAX_END_CHARS:]}"


def _charset(content_type: str) -> str:
    return content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")


def _encoding(raw: bytes, content_type: str) -> str:
    return CHARSETS.get(_charset(content_type)) or detect_encoding(raw)


def _decoded(raw: bytes, content_type: str) -> tuple[Any, str]:
    """The JSON of a body, or None and what is wrong; any Unicode encoding is read, as RFC 8259 8.1 allows."""
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
