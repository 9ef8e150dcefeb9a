"""Heads of requests at `manage.py web`: neither too slow nor too large; who behaves notices nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed: requirements/scale.txt")

from uvicorn.server import ServerState  # noqa: E402

from leaguesite.serving import web_protocol  # noqa: E402
from leaguesite.serving.web_protocol import HEAD_BYTES, PatientProtocol  # noqa: E402

PATIENCE_S = 30
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        await send({"type": "websocket.send", "text": "still here"})
        await send({"type": "websocket.close"})
        return
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest_asyncio.fixture
async def connect(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Connect]:
    monkeypatch.setattr(web_protocol, "BODY_LIMIT_S", 0.2)
    config = uvicorn.Config(application, http=PatientProtocol, lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: PatientProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    opened: list[asyncio.StreamWriter] = []

    async def connected() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        opened.append(writer)
        return reader, writer

    yield connected
    for writer in opened:
        writer.close()
    server.close()
    await server.wait_closed()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """What still comes until the other side ends the connection."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    except ConnectionError:
        return b""


@pytest.mark.parametrize("said", [b"", b"GE", HEAD, HEAD + b"X-Slow: "])
async def test_who_does_not_send_a_whole_head_is_let_go(connect: Connect, said: bytes) -> None:
    reader, writer = await connect()
    writer.write(said)
    assert await rest(reader) == b""


async def test_the_second_head_on_a_connection_has_its_time_too(connect: Connect) -> None:
    reader, writer = await connect()
    writer.write(HEAD + b"\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    writer.write(HEAD)
    assert await rest(reader) == b""


@pytest.mark.parametrize("endless", [b"GET /" + b"x" * 4096, HEAD + b"X-Long: " + b"x" * 4096])
async def test_a_head_without_an_end_is_not_kept(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, endless: bytes
) -> None:
    monkeypatch.setattr(web_protocol, "BODY_LIMIT_S", 10 * PATIENCE_S)
    reader, writer = await connect()
    writer.write(endless)
    writer.write(b"x" * HEAD_BYTES)
    assert b"200" not in await rest(reader)


async def test_a_body_takes_its_own_time(connect: Connect) -> None:
    """What it may take is the application's business: it knows the path."""
    reader, writer = await connect()
    writer.write(HEAD + b"Content-Length: 3\r\n\r\n")
    await silence(connect)
    writer.write(b"abc")
    assert (await reader.readuntil(b"abc")).endswith(b"abc")


async def silence(connect: Connect) -> None:
    """As long as a head may take: until one that says nothing is let go."""
    reader, _ = await connect()
    assert await rest(reader) == b""


async def test_a_web_socket_may_be_silent(connect: Connect) -> None:
    reader, writer = await connect()
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    writer.write(HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\n" + key + b"\r\n")
    assert b"101" in await reader.readuntil(b"\r\n\r\n")
    await silence(connect)
    # "?" as a masked text frame.
    writer.write(b"\x81\x81\x00\x00\x00\x00?")
    assert b"still here" in await rest(reader)
