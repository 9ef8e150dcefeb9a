"""A proxy in front of a program on this machine, which passes on and records every request."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from tests.bots.base import listening

KEPT = ("content-type", "mcp-session-id", "allow")
NOT_PASSED_ON = ("host", "content-length", "transfer-encoding", "connection")


@dataclass(frozen=True)
class Recorded:
    """One request.

    Attributes:
        verb: the HTTP verb.
        method: the method of JSON-RPC; empty if there was none.
        session, version: as its headers of MCP have them.
        status: the status of the answer.
        new_session: the session id in the answer's headers; empty if there was none.
    """

    verb: str
    method: str
    session: str
    version: str
    status: int
    new_session: str


@contextmanager
def recording(port: int, into: list[Recorded]) -> Iterator[str]:
    """Run a proxy in front of a port of 127.0.0.1 until the block ends; yields the proxy's address."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    address: list[str] = []

    async def serve() -> None:
        async with ClientSession(timeout=ClientTimeout(total=60), auto_decompress=False) as session:

            async def handle(request: web.Request) -> web.StreamResponse:
                return await _pass_on(session, request, port, into)

            async with listening(handle) as url:
                address.append(url)
                ready.set()
                await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()], daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)
        loop.close()


async def _pass_on(session: ClientSession, request: web.Request, port: int, into: list[Recorded]) -> web.StreamResponse:
    raw = await request.read()
    try:
        body = json.loads(raw)
    except ValueError:
        body = {}
    headers = {name: value for name, value in request.headers.items() if name.lower() not in NOT_PASSED_ON}
    url = f"http://127.0.0.1:{port}{request.rel_url}"
    try:
        async with session.request(request.method, url, headers=headers, data=raw) as reply:
            answer = await reply.read()
            kept_headers = {name: value for name, value in reply.headers.items() if name.lower() in KEPT}
            status = reply.status
    except ClientError:
        answer, kept_headers, status = b"", {}, 502
    request_headers, reply_headers = request.headers, {name.lower(): value for name, value in kept_headers.items()}
    into.append(
        Recorded(
            request.method,
            str(body.get("method", "")),
            request_headers.get("mcp-session-id", ""),
            request_headers.get("mcp-protocol-version", ""),
            status,
            reply_headers.get("mcp-session-id", ""),
        )
    )
    return web.Response(status=status, body=answer, headers=kept_headers)
