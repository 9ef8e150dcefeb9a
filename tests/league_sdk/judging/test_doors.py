"""Who connects to a referee and stays: it is let go, and takes no file that a call to a player needs."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager

import pytest
from aiohttp import web

from league_sdk.judging import door_http
from league_sdk.judging.doors import Doors, more_files
from league_sdk.judging.referee import Referee
from league_sdk.protocol.limits import MAX_CONCURRENT_MATCHES
from tests.knocking import needs
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.starts import Link

PATIENCE_S = 60
LONG_S = 3600.0
PING = json.dumps({"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1}).encode()
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(PING) + PING

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Connection]]


@asynccontextmanager
async def referee_at(referee: Referee, link: Link, *, most: int, keepalive_s: float = LONG_S) -> AsyncIterator[Connect]:
    runner = web.AppRunner(application(referee, link), access_log=None, shutdown_timeout=0)  # type: ignore[arg-type]
    await runner.setup()
    assert runner.server is not None
    doors = Doors(runner.server, most=most, keepalive_s=keepalive_s)
    port = await doors.open(socket.create_server(("127.0.0.1", 0)))
    opened: list[asyncio.StreamWriter] = []

    async def connect() -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        opened.append(writer)
        return reader, writer

    yield connect
    for writer in opened:
        writer.close()
    doors.close()
    await runner.cleanup()


async def ping(connection: Connection) -> int:
    reader, writer = connection
    writer.write(WHOLE)
    async with asyncio.timeout(PATIENCE_S):
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(int(size.partition(b":")[2]))
    return int(head.split()[1])


async def ended(connection: Connection) -> bytes:
    """What still comes until the other side ends the connection."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await connection[0].read()
    except ConnectionError:
        return b""


@needs(MAX_CONCURRENT_MATCHES)
async def test_a_round_of_starts_comes_in_while_the_referee_does_something_else(referee: Referee, link: Link) -> None:
    with ExitStack() as stack:
        async with referee_at(referee, link, most=1000) as connect:
            _, writer = await connect()
            port = writer.get_extra_info("peername")[1]
            # The loop stands still meanwhile: it is the system that takes them in, and not for ever.
            for _ in range(MAX_CONCURRENT_MATCHES):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S / 10))


async def test_of_too_many_connections_the_one_that_was_silent_longest_goes(referee: Referee, link: Link) -> None:
    async with referee_at(referee, link, most=3) as connect:
        idle = [await connect() for _ in range(3)]
        assert [await ping(one) for one in idle] == [200] * 3
        # The first is the one heard of last now.
        assert await ping(idle[0]) == 200
        assert await ping(await connect()) == 200
        assert await ended(idle[1]) == b""
        assert [await ping(one) for one in (idle[0], idle[2])] == [200, 200]


async def test_however_many_connect_a_caller_is_answered(referee: Referee, link: Link) -> None:
    async with referee_at(referee, link, most=10) as connect:
        idle = [await connect() for _ in range(50)]
        for _, writer in idle:
            writer.write(HEAD)
        assert await ping(await connect()) == 200
        assert [await ended(one) for one in idle[:41]] == [b""] * 41


@pytest.mark.parametrize("said", [b"", b"POST /mc", HEAD + b"X-Slow: ", WHOLE])
async def test_a_connection_that_says_nothing_more_is_ended(referee: Referee, link: Link, said: bytes) -> None:
    async with referee_at(referee, link, most=10, keepalive_s=0.05) as connect:
        connection = await connect()
        connection[1].write(said)
        assert (await ended(connection)).partition(b"\r\n")[0] == (b"HTTP/1.1 200 OK" if said == WHOLE else b"")


async def test_a_body_that_does_not_come_is_not_waited_for(
    referee: Referee, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_http, "BODY_LIMIT_S", 0.05)
    async with referee_at(referee, link, most=10) as connect:
        connection = await connect()
        connection[1].write(HEAD + b"Content-Length: 1000\r\n\r\n{")
        assert await ended(connection) == b""
        assert await ping(await connect()) == 200


@pytest.mark.parametrize(
    ("limits", "expected"),
    [((1024, 4096), 4096), ((1024, 10**6), 65_536), ((1024, resource.RLIM_INFINITY), 65_536), ((10**6, 10**6), 10**6)],
)
def test_a_process_has_as_many_files_as_it_may(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], expected: int
) -> None:
    kept = [limits]
    monkeypatch.setattr(resource, "getrlimit", lambda _: kept[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: kept.append(new))
    assert (more_files(), kept[-1]) == (expected, (expected, limits[1]))


def test_a_system_that_refuses_more_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert more_files() == 256
