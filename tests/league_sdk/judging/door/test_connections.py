"""Connections to a referee's door: idle ones are closed, and strangers' push out no player and no league manager."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager

import pytest
from aiohttp import web

from league_sdk.judging.door.budgets import STRANGER, Budgets
from league_sdk.judging.door.connections import MAX_CONNECTIONS_PER_SEAT, Listener
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol.limits import MAX_CONCURRENT_MATCHES
from league_sdk.serving import AT_ONCE_S
from tests.backlog import needs
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.starts import LEAGUE_TOKEN, Link

PATIENCE_S = 60
LONG_S = 3600.0
PING = json.dumps({"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1}).encode()
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
WHOLE_PING = HEAD + b"Content-Length: %d\r\n\r\n" % len(PING) + PING

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Connection]]


@asynccontextmanager
async def referee_at(
    referee: Referee,
    link: Link,
    *,
    max_connections: int,
    keepalive_s: float = LONG_S,
    body_timeout_s: float = LONG_S,
    budgets: Budgets | None = None,
) -> AsyncIterator[Connect]:
    budgets = budgets or Budgets()
    app = application(referee, link, budgets=budgets, body_timeout_s=body_timeout_s)  # type: ignore[arg-type]
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=AT_ONCE_S)
    await runner.setup()
    assert runner.server is not None
    listener = Listener(runner.server, max_connections=max_connections, keepalive_s=keepalive_s, budgets=budgets)
    port = await listener.open(socket.create_server(("127.0.0.1", 0)))
    opened: list[asyncio.StreamWriter] = []

    async def connect() -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        opened.append(writer)
        return reader, writer

    yield connect
    for writer in opened:
        writer.close()
    listener.close()
    await runner.cleanup()


async def ping(connection: Connection, request: bytes = WHOLE_PING) -> int:
    """Send a request, a ping by default; returns the HTTP status of the answer."""
    reader, writer = connection
    writer.write(request)
    async with asyncio.timeout(PATIENCE_S):
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(int(size.partition(b":")[2]))
    return int(head.split()[1])


async def ended(connection: Connection) -> bytes:
    """Read until the other side ends the connection; returns what was read."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await connection[0].read()
    except ConnectionError:
        return b""


@needs(MAX_CONCURRENT_MATCHES)
async def test_the_backlog_holds_all_starts_of_a_round(referee: Referee, link: Link) -> None:
    with ExitStack() as stack:
        async with referee_at(referee, link, max_connections=1000) as connect:
            _, writer = await connect()
            port = writer.get_extra_info("peername")[1]
            # The event loop is blocked meanwhile, so only the system's backlog can accept them.
            for _ in range(MAX_CONCURRENT_MATCHES):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S / 10))


async def test_the_connection_that_was_silent_longest_is_closed_first(referee: Referee, link: Link) -> None:
    async with referee_at(referee, link, max_connections=3) as connect:
        idle = [await connect() for _ in range(3)]
        assert [await ping(one) for one in idle] == [200] * 3
        # Now the first is the one that was heard from last.
        assert await ping(idle[0]) == 200
        assert await ping(await connect()) == 200
        assert await ended(idle[1]) == b""
        assert [await ping(one) for one in (idle[0], idle[2])] == [200, 200]


async def test_a_caller_is_answered_however_many_others_connect(referee: Referee, link: Link) -> None:
    async with referee_at(referee, link, max_connections=10) as connect:
        idle = [await connect() for _ in range(50)]
        for _, writer in idle:
            writer.write(HEAD)
        assert await ping(await connect()) == 200
        assert [await ended(one) for one in idle[:41]] == [b""] * 41


@pytest.mark.parametrize("data", [b"", b"POST /mc", HEAD + b"X-Slow: ", WHOLE_PING])
async def test_a_silent_connection_is_closed(referee: Referee, link: Link, data: bytes) -> None:
    async with referee_at(referee, link, max_connections=10, keepalive_s=0.05) as connect:
        connection = await connect()
        connection[1].write(data)
        assert (await ended(connection)).partition(b"\r\n")[0] == (b"HTTP/1.1 200 OK" if data == WHOLE_PING else b"")


async def test_a_door_closes_the_connection_when_a_body_times_out(referee: Referee, link: Link) -> None:
    async with referee_at(referee, link, max_connections=10, body_timeout_s=0.05) as connect:
        connection = await connect()
        connection[1].write(HEAD + b"Content-Length: 1000\r\n\r\n{")
        assert await ended(connection) == b""
        assert await ping(await connect()) == 200


# Budgets ---------------------------------------------------------------------------------------

SEAT_SECRET = "tok_" + "9" * 32
AT_SEAT = WHOLE_PING.replace(b"/mcp", f"/mcp/{SEAT_SECRET}".encode(), 1)
AS_LEAGUE = WHOLE_PING.replace(b"Host:", f"Authorization: Bearer {LEAGUE_TOKEN}\r\nHost:".encode(), 1)


def flooded() -> Budgets:
    """Budgets that strangers have used up, for the address from which the tests call, too."""
    made = Budgets(clock=lambda: 1000.0)
    made.open_seats([SEAT_SECRET])
    while made.take_request(STRANGER, "127.0.0.1"):
        continue
    return made


async def test_a_player_and_the_league_manager_are_served_while_strangers_flood(referee: Referee, link: Link) -> None:
    async with referee_at(referee, link, max_connections=10, budgets=flooded()) as connect:
        assert [await ping(await connect(), request) for request in (AT_SEAT, AS_LEAGUE)] == [200, 200]
        connection = await connect()
        connection[1].write(HEAD + b"Content-Length: 60000\r\n\r\n")
        # The body is not waited for.
        head, _, body = (await ended(connection)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 429 ")
        assert json.loads(body)["error"]["data"]["error_code"] == "E009"


async def test_each_request_on_a_players_connection_is_identified_again(referee: Referee, link: Link) -> None:
    async with referee_at(referee, link, max_connections=10, budgets=flooded()) as connect:
        connection = await connect()
        assert [await ping(connection, request) for request in (AT_SEAT, AT_SEAT, WHOLE_PING)] == [200, 200, 429]
        assert await ended(connection) == b""


async def test_a_door_stops_reading_a_body_that_exceeds_the_budget(referee: Referee, link: Link) -> None:
    budgets = Budgets(clock=lambda: 1000.0)
    async with referee_at(referee, link, max_connections=10, budgets=budgets) as connect:
        connection = await connect()
        # Chunks have no length that could be refused before.
        connection[1].write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(ConnectionError):
            while True:
                connection[1].write(b"8000\r\n" + b" " * 0x8000 + b"\r\n")
                await connection[1].drain()
    # Without this refusal the connection would end a second later, as the body is too large.
    assert budgets.turned_away[STRANGER] == 1


async def test_strangers_push_out_no_players_connection(referee: Referee, link: Link) -> None:
    budgets = Budgets(clock=lambda: 1000.0)
    budgets.open_seats([SEAT_SECRET])
    async with referee_at(referee, link, max_connections=5, budgets=budgets) as connect:
        player, league = await connect(), await connect()
        assert [await ping(player, AT_SEAT), await ping(league, AS_LEAGUE)] == [200, 200]
        strangers = [await connect() for _ in range(20)]
        assert [await ended(one) for one in strangers[:17]] == [b""] * 17
        assert [await ping(player, AT_SEAT), await ping(league, AS_LEAGUE)] == [200, 200]


async def test_a_slow_head_pushes_out_no_new_connection(referee: Referee, link: Link) -> None:
    """A slow head counts against no budget, so its sender must not look more active than a new player."""
    budgets = Budgets(clock=lambda: 1000.0)
    budgets.open_seats([SEAT_SECRET])
    async with referee_at(referee, link, max_connections=10, budgets=budgets) as connect:
        witness = await connect()

        async def settled() -> None:
            # The first of these makes the door read what came before, the second accepts new connections.
            assert [await ping(witness, AT_SEAT) for _ in range(2)] == [200, 200]

        await settled()
        dripping = [await connect() for _ in range(8)]
        for _, writer in dripping:
            writer.write(HEAD)
        await settled()
        player = await connect()
        await settled()
        for _, writer in dripping:
            writer.write(b"X")
        await settled()
        await connect()
        await settled()
        assert await ping(player, AT_SEAT) == 200


async def test_a_player_has_a_limited_number_of_connections(referee: Referee, link: Link) -> None:
    budgets = Budgets(clock=lambda: 1000.0)
    budgets.open_seats([SEAT_SECRET])
    async with referee_at(referee, link, max_connections=100, budgets=budgets) as connect:
        connections = [await connect() for _ in range(MAX_CONNECTIONS_PER_SEAT + 1)]
        assert [await ping(one, AT_SEAT) for one in connections] == [200] * len(connections)
        assert await ended(connections[0]) == b""
        assert await ping(connections[1], AT_SEAT) == 200


async def test_a_connection_that_stays_after_a_match_pushes_out_nobody(referee: Referee, link: Link) -> None:
    budgets = Budgets(clock=lambda: 1000.0)
    budgets.open_seats([SEAT_SECRET])
    async with referee_at(referee, link, max_connections=3, budgets=budgets) as connect:
        # They stay open like streams of MCP, which never fall silent.
        stayed = [await connect() for _ in range(3)]
        assert [await ping(one, AT_SEAT) for one in stayed] == [200] * 3
        budgets.close_seats([SEAT_SECRET])
        assert await ping(await connect(), AS_LEAGUE) == 200
        assert await ended(stayed[0]) == b""
        assert [await ping(one) for one in stayed[1:]] == [200, 200]
