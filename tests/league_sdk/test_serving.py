"""The small HTTP server: which bodies it reads, and how its port is opened and closed."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from aiohttp import ClientError, ClientSession, web

from league_sdk.protocol.dispatch import Post, Reply
from league_sdk.protocol.errors import TooLarge
from league_sdk.serving import Port, read_post, response


async def size(request: web.BaseRequest) -> web.Response:
    try:
        post: Post = await read_post(request)
    except TooLarge as error:
        return response(Reply(error.http_status))
    return response(
        Reply(
            body=str(len(post.body)).encode(),
            headers={"Seen": f"{request.path} {post.content_type}; {post.authorization}; {post.content_encoding}"},
        )
    )


@pytest.fixture
async def address() -> AsyncIterator[str]:
    port = Port(size)
    number = await port.open("127.0.0.1")
    yield f"http://127.0.0.1:{number}/anywhere"
    await port.close()


async def chunks(number: int) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield b"x" * 1024


@pytest.mark.parametrize("has_length", [True, False], ids=["Content-Length", "chunked"])
async def test_a_server_refuses_a_body_over_64_kib(address: str, has_length: bool) -> None:
    async with ClientSession() as http:
        for kib, expected in ((64, (200, "65536")), (65, (413, ""))):
            data = b"x" * 1024 * kib if has_length else chunks(kib)
            async with http.post(address, data=data) as answer:
                assert (answer.status, await answer.text()) == expected


async def test_read_post_returns_the_headers(address: str) -> None:
    async with ClientSession() as http:
        headers = {"Content-Type": "application/json", "Authorization": "Bearer x"}
        async with http.post(address, data=b"{}", headers=headers) as answer:
            assert answer.headers["Seen"] == "/anywhere application/json; Bearer x;"


@pytest.mark.parametrize("packed", [gzip.compress(b"x" * 1000), b"\x1f\x8bnonsense"], ids=["gzip", "called gzip"])
async def test_a_compressed_body_is_passed_on_as_it_is(address: str, packed: bytes) -> None:
    async with ClientSession() as http, http.post(address, data=packed, headers={"Content-Encoding": "gzip"}) as answer:
        assert await answer.text() == str(len(packed))
        assert answer.headers["Seen"].endswith("; gzip")


async def test_an_address_in_the_request_line_is_taken(address: str) -> None:
    number = int(address.rpartition(":")[2].partition("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", number)
    writer.write(f"POST {address} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK") and b"Seen: /anywhere" in head
    writer.close()
    await writer.wait_closed()


async def test_opening_a_port_in_use_fails() -> None:
    one, other = Port(size), Port(size)
    number = await one.open("127.0.0.1")
    with pytest.raises(OSError, match="in use"):
        await other.open("127.0.0.1", number)
    await other.close()
    await one.close()


async def test_closing_drops_the_requests_in_progress() -> None:
    begun = asyncio.Event()

    async def never(request: web.BaseRequest) -> web.Response:
        begun.set()
        return await asyncio.Future()

    port = Port(never)
    number = await port.open("127.0.0.1")
    async with ClientSession() as http:
        asking = asyncio.create_task(http.get(f"http://127.0.0.1:{number}/"))
        await begun.wait()
        async with asyncio.timeout(20):
            await port.close()
        with pytest.raises(ClientError):
            await asking


@pytest.mark.parametrize("loop_rounds", range(6))
async def test_a_server_that_stops_closes_connections_that_it_is_just_accepting(loop_rounds: int) -> None:
    port = Port(size)
    number = await port.open("127.0.0.1")
    with socket.create_connection(("127.0.0.1", number)) as client:
        client.setblocking(False)
        # After so many rounds of the event loop with the connection the server stops.
        for _ in range(loop_rounds):
            await asyncio.sleep(0)
        await port.close()
        async with asyncio.timeout(10):
            with suppress(ConnectionResetError):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""


@pytest.mark.parametrize("name", ["127.0.0.1", "[::1]"])
async def test_a_port_at_every_interface_takes_calls_of_both_versions_of_ip(name: str) -> None:
    port = Port(size)
    number = await port.open("::")
    async with ClientSession() as session, session.post(f"http://{name}:{number}/", data=b"x") as answer:
        assert (await answer.text()) == "1"
    await port.close()
