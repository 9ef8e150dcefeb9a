"""What httpx does differently from aiohttp, and agents must not notice."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from league_sdk.protocol.faults import Cause
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.transport.client import Broken, CallFailed, Client
from league_sdk.transport.httpx_client import HttpxClient
from tests.bots.base import listening
from tests.league_sdk.transport.conftest import Make
from tests.league_sdk.transport.test_client import PATIENT_S, returning


async def sent(make: Make, headers: dict[str, str]) -> tuple[list[bytes], int]:
    """What a client sends, as sorted lines, and how many reads of the socket it takes."""
    reads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not (reads and reads[-1].endswith(b"}")):
            reads.append(await reader.read(2**16))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = make(agent_type="referee")
    async with server:
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/a%7eb/./mcp?x=%41|y"
        await client.post(url, {"a": "b"}, limit_s=PATIENT_S, headers=headers)
        await client.aclose()
    raw = b"".join(reads).replace(str(port).encode(), b"PORT")
    first, _, rest = raw.partition(b"\r\n")
    return [first, *sorted(rest.split(b"\r\n"))], len(reads)


async def test_both_clients_send_the_same_headers_and_body_in_one_piece() -> None:
    headers = {"mcp-session-id": "s1", "Authorization": "Bearer x"}
    by_aiohttp, by_httpx = await sent(Client, headers), await sent(HttpxClient, headers)
    assert by_httpx == by_aiohttp
    assert by_httpx[1] == 1 and b"Content-Length: 9" in by_httpx[0]


async def test_a_refused_answer_leaves_the_connections_free() -> None:
    """One connection for all: a call that keeps it would make the next one wait for ever."""

    client = HttpxClient(agent_type="check", max_connections=1)
    async with listening(returning(lambda: web.Response(body=b"x" * (MAX_ANSWER_BYTES + 1)))) as url:
        for _ in range(3):
            with pytest.raises(CallFailed, match="is larger than"):
                await client.post(url, {}, limit_s=PATIENT_S)
        calls = [asyncio.create_task(client.post(url, {}, limit_s=PATIENT_S)) for _ in range(3)]
        await asyncio.sleep(0)
        calls[1].cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in outcomes] == [Broken, asyncio.CancelledError, Broken]
        await client.aclose()


async def test_an_address_that_httpx_cannot_read_is_not_called() -> None:
    client = HttpxClient(agent_type="check")
    with pytest.raises(CallFailed) as caught:
        await client.post("http://127.0.0.1:8101/" + "a" * 70_000, {}, limit_s=PATIENT_S)
    await client.aclose()
    assert (caught.value.connected, caught.value.cause) == (False, Cause.CONNECT)
