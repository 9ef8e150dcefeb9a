"""A request by hand: its body comes in pieces, and the answer's headers can be seen."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.transport.policy import EndpointPolicy, Forbidden, PolicyResolver
from league_sdk.transport.targets import Target

PIECES = 5
PAUSE_S = 0.1
_MAX_HEAD = 16 * 1024


class RawFailed(Exception):
    """No HTTP answer could be read; the text says why."""


@dataclass(frozen=True, slots=True)
class RawReply:
    """An HTTP answer.

    Attributes:
        status: the HTTP status.
        content_type: as sent, empty when it was not.
        body: its bytes.
    """

    status: int
    content_type: str
    body: bytes


async def post_slowly(
    url: str, body: bytes, *, policy: EndpointPolicy, limit_s: float, headers: Mapping[str, str] | None = None
) -> RawReply:
    """POST a body in :data:`PIECES` pieces with pauses between them.

    Args:
        url: where to; checked by the policy, and so is every address its name resolves to.
        body: the bytes.
        policy: which addresses may be called.
        limit_s: seconds for everything.
        headers: besides the usual ones, such as those of a session.

    Raises:
        RawFailed: the address may not be called, nothing came in time, or what came is no HTTP answer.
    """
    try:
        target = policy.check_url(url)
    except Forbidden as error:
        raise RawFailed(str(error)) from None
    secure = target.scheme == "https"
    try:
        async with asyncio.timeout(limit_s):
            found = await PolicyResolver(policy).resolve(target.host, target.number, socket.AF_UNSPEC)
            reader, writer = await asyncio.open_connection(
                found[0]["host"],
                target.number,
                limit=_MAX_HEAD,
                ssl=ssl.create_default_context() if secure else None,
                server_hostname=target.host if secure else None,
            )
            try:
                await _send(writer, target, body, headers or {})
                return await _receive(reader)
            finally:
                writer.close()
    except TimeoutError:
        raise RawFailed(f"no answer within {limit_s:g} s") from None
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        raise RawFailed(f"the connection broke off ({type(error).__name__})") from None


async def _send(writer: asyncio.StreamWriter, target: Target, body: bytes, headers: Mapping[str, str]) -> None:
    lines = (
        f"POST {target.path or '/'}{target.question} HTTP/1.1",
        f"Host: {target.place}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"User-Agent: check/{SDK_VERSION}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    )
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    size = max(1, -(-len(body) // PIECES))
    for start in range(0, len(body), size):
        await writer.drain()
        await asyncio.sleep(PAUSE_S)
        writer.write(body[start : start + size])
    await writer.drain()


async def _receive(reader: asyncio.StreamReader) -> RawReply:
    status, headers = 100, dict[str, str]()
    while 100 <= status < 200:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        version, _, rest = head[0].partition(" ")
        if not version.startswith("HTTP/"):
            raise ValueError("no HTTP answer")
        status = int(rest[:3])
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _chunks(reader)
    elif "content-length" in headers:
        body = await _exactly(reader, int(headers["content-length"]))
    else:
        body = await reader.read(MAX_ANSWER_BYTES + 1)
    return RawReply(status, headers.get("content-type", ""), body)


async def _exactly(reader: asyncio.StreamReader, size: int) -> bytes:
    if not 0 <= size <= MAX_ANSWER_BYTES:
        raise ValueError("the answer is too large")
    return await reader.readexactly(size)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += await _exactly(reader, size)
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError("the answer is too large")
        await reader.readuntil(b"\r\n")
    return body
