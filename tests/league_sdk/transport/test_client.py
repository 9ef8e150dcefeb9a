"""The HTTP client against real servers, good and bad, on free ports."""

import asyncio
import gzip
import json
import socket
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import Mock

import pytest
from aiohttp import web

from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.transport.client import Broken, CallFailed, Client, Reply, TimedOut
from league_sdk.transport.connection import MAX_LINES, LimitedConnection
from league_sdk.transport.policy import EndpointPolicy
from tests.bots.base import Handler, listening
from tests.league_sdk.transport.conftest import Make

PATIENT_S, HASTY_S = 60.0, 0.05


@asynccontextmanager
async def raw_agent(answer: bytes, *, reset: bool = False) -> AsyncIterator[str]:
    """A server that reads a request, writes these bytes and closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if reset:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        await server.wait_closed()


def returning(response: Callable[[], web.StreamResponse]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return response()

    return handle


async def reply_with(client: Client, *args: Any, **options: Any) -> Reply:
    """The reply of a server that answers with this :class:`web.Response`."""
    async with listening(returning(lambda: web.Response(*args, **options))) as url:
        return await client.post(url, {}, limit_s=PATIENT_S)


async def failure(client: Client, url: str, limit_s: float = PATIENT_S) -> tuple[type[CallFailed], str, bool, str]:
    with pytest.raises(CallFailed) as caught:
        await client.post(url, {"jsonrpc": "2.0"}, limit_s=limit_s)
    error = caught.value
    return type(error), error.error_code, error.connected, str(error)


# -- answers ----------------------------------------------------------------------------------------------


async def test_a_client_posts_json_and_reads_json(client: Client) -> None:
    seen = {}

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers, method=request.method, body=await request.read())
        return web.json_response({"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 7})

    async with listening(handle) as url:
        reply = await client.post(url, {"name": "Zoë"}, limit_s=PATIENT_S)
    answer = {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 7}
    assert (reply.status, reply.body, reply.problem) == (200, answer, "")
    assert (seen["method"], seen["body"]) == ("POST", '{"name":"Zoë"}'.encode())
    names = ("User-Agent", "Content-Type", "Accept", "Accept-Encoding")
    expected = [f"referee/{SDK_VERSION}", "application/json", "application/json, text/event-stream", "identity"]
    assert [seen[name] for name in names] == expected
    assert [name for name in ("Cookie", "Authorization") if name in seen] == []


async def test_a_client_deletes_what_its_headers_name(client: Client) -> None:
    seen: list[tuple[str, str | None]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append((request.method, request.headers.get("Mcp-Session-Id")))
        return web.Response(text="a body that nobody reads")

    async with listening(handle) as url:
        assert await client.delete(url, {"mcp-session-id": "s1"}, limit_s=PATIENT_S) == 200
    assert seen == [("DELETE", "s1")]


async def test_a_delete_that_fails_raises_no_error(client: Client) -> None:
    async with raw_agent(b"") as cut_off, raw_agent(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000) as too_long:
        for url in (cut_off, too_long, "http://127.0.0.1:1/mcp", "inbox:7", "file:///etc/passwd", "http://[::"):
            assert await client.delete(url, {}, limit_s=PATIENT_S) is None


async def test_a_delete_obeys_the_policy(make: Make) -> None:
    strict = make(agent_type="referee", policy=EndpointPolicy(networks=()))
    called: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        called.append(request.method)
        return web.Response()

    async with listening(handle) as url:
        await strict.delete(url, {}, limit_s=PATIENT_S)
    await strict.aclose()
    assert called == []


async def test_a_client_sends_bytes_as_they_are(client: Client) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response((await request.read()).decode())

    async with listening(handle) as url:
        assert (await client.post(url, b'{"a": 1}', limit_s=PATIENT_S)).body == '{"a": 1}'


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_json_is_read_whatever_the_status_and_the_content_type(client: Client, status: int) -> None:
    reply = await reply_with(client, body=b'{"a":1}', status=status, content_type="text/plain")
    assert (reply.status, reply.body, reply.problem) == (status, {"a": 1}, "")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>Not found</html>", "The body is not JSON: Expecting value: line 1 column 1 (char 0)."),
        (b"\xff\xfa", "The body is not valid UTF-8 text: invalid start byte."),
        (b"\xff\xfe{", "The body is not valid utf-16 text: truncated data."),
        (b'{"choice": NaN}', "The body is not JSON: NaN is not JSON."),
    ],
)
async def test_a_reply_that_is_not_json_has_a_problem(client: Client, body: bytes, problem: str) -> None:
    reply = await reply_with(client, body=body, content_type="text/html")
    assert reply == Reply(200, None, problem, reply.elapsed_s)


JSON, STREAM = "application/json", "text/event-stream"


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b"", {"Content-Type": JSON}, None),
        (b"  \n", {"Content-Type": "text/plain"}, None),
        (gzip.compress(b'{"a":1}', mtime=0), {"Content-Encoding": "gzip"}, {"a": 1}),
        (zlib.compress(b'{"a":1}'), {"Content-Encoding": "Deflate"}, {"a": 1}),
        (b'\xef\xbb\xbf{"a":1}', {"Content-Type": JSON}, {"a": 1}),
        ('{"a":1}'.encode("utf-16"), {"Content-Type": f"{JSON}; charset=utf-16"}, {"a": 1}),
        (b'{"a":1}', {"Content-Type": "text/plain; charset=iso-8859-1"}, {"a": 1}),
        (b'event: message\r\ndata: {"id": 1}\r\n\r\n', {"Content-Type": STREAM}, {"id": 1}),
        (b'data: {"n": 1}\n\n: still there\n\ndata: {"id": 2}\n\n', {"Content-Type": f"{STREAM}; x=1"}, {"id": 2}),
    ],
)
async def test_a_client_reads_compressed_json_any_unicode_and_event_streams(
    client: Client, body: bytes, headers: dict[str, str], expected: object
) -> None:
    reply = await reply_with(client, body=body, headers=headers)
    assert (reply.body, reply.problem) == (expected, "")


@pytest.mark.parametrize(
    ("body", "charset", "name"),
    [
        ("Jürgen".encode("latin-1"), "ISO-8859-1", "Jürgen"),
        ("רותם".encode("cp1255"), '"windows-1255"', "רותם"),
        ("Zoë".encode(), "no-such-charset", "Zoë"),
    ],
)
async def test_a_client_decodes_a_declared_character_set(client: Client, body: bytes, charset: str, name: str) -> None:
    headers = {"Content-Type": f"application/json; charset={charset}; x=1"}
    assert (await reply_with(client, body=b'{"name":"%s"}' % body, headers=headers)).body == {"name": name}


async def test_a_client_reads_an_open_event_stream_up_to_the_answer(client: Client) -> None:
    """The server sends progress, then the answer, then nothing, and keeps the stream open."""
    never = asyncio.Event()

    async def streaming(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b': ping\n\ndata: {"jsonrpc": "2.0", "method": "notifications/progress"}\n\n')
        await response.write(b'id: 2\nevent: message\ndata: {"jsonrpc": "2.0",\ndata: "result": 5, "id": 1}\n\n')
        await never.wait()
        return response

    async with listening(streaming) as url:
        reply = await client.post(url, {}, limit_s=PATIENT_S)
        never.set()
    assert reply.body == {"jsonrpc": "2.0", "result": 5, "id": 1}


async def test_a_client_sends_extra_headers_and_returns_those_of_the_reply(client: Client) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        seen = [request.headers["Mcp-Session-Id"], request.headers["User-Agent"]]
        return web.json_response(seen, headers={"Mcp-Session-Id": "new"})

    async with listening(handle) as url:
        reply = await client.post(url, {}, limit_s=PATIENT_S, headers={"mcp-session-id": "s1"})
    assert (reply.body, reply.headers["mcp-session-id"]) == (["s1", f"referee/{SDK_VERSION}"], "new")


@pytest.mark.parametrize("packed", [b"\x1f\x8bnot gzip at all", b"{}"])
async def test_a_reply_with_broken_compression_is_broken(client: Client, packed: bytes) -> None:
    headers = {"Content-Encoding": "gzip"}
    async with listening(returning(lambda: web.Response(body=packed, headers=headers))) as url:
        assert (await failure(client, url))[:3] == (Broken, "E009", True)


async def test_a_client_decompresses_up_to_the_size_limit(client: Client) -> None:
    """A small body could unpack to gigabytes."""
    packed = gzip.compress(json.dumps({"bomb": "x" * 10_000_000}).encode())
    assert len(packed) < MAX_ANSWER_BYTES
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with listening(returning(lambda: web.Response(body=packed, headers=headers))) as url:
        sentence = f"the answer is larger than {MAX_ANSWER_BYTES} bytes"
        assert await failure(client, url) == (Broken, "E009", True, sentence)


@pytest.mark.parametrize(("size", "fits"), [(MAX_ANSWER_BYTES, True), (MAX_ANSWER_BYTES + 1, False)])
async def test_an_answer_has_at_most_64_kib(client: Client, size: int, fits: bool) -> None:
    async with listening(returning(lambda: web.Response(body=b'"' + b"x" * (size - 2) + b'"'))) as url:
        if fits:
            assert len((await client.post(url, {}, limit_s=PATIENT_S)).body) == size - 2
        else:
            sentence = f"the answer is larger than {MAX_ANSWER_BYTES} bytes"
            assert await failure(client, url) == (Broken, "E009", True, sentence)


# -- no answer --------------------------------------------------------------------------------------------


async def test_an_endless_body_is_cut_off(client: Client) -> None:
    ended = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 4096)
        finally:
            ended.set()

    async with listening(endless) as url:
        assert (await failure(client, url))[:3] == (Broken, "E009", True)
        await ended.wait()


async def test_a_body_that_comes_byte_by_byte_runs_out_of_time(client: Client) -> None:
    """A timeout between two bytes would never expire."""

    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.001)

    async with listening(dripping) as url:
        assert await failure(client, url, HASTY_S) == (TimedOut, "E001", True, "no answer within 0.05 s")


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("answer", "reset"),
    [
        (b"", False),
        (b"", True),
        (OK, False),
        (OK + b"Content-Length: 100\r\n\r\n{}", False),
        (OK + b"Content-Length: 100\r\n\r\n{}", True),
        (OK + b'Content-Length: 7\r\n\r\n{"a":1}{"a":2}', False),
        (OK + b"Content-Length: -5\r\n\r\n{}", False),
        (OK + b"Content-Length: two\r\n\r\n{}", False),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", False),
        (OK + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n{}", False),
        (b"I am not HTTP\r\n\r\n", False),
    ],
)
async def test_a_connection_that_breaks_off_may_have_reached_the_agent(
    client: Client, answer: bytes, reset: bool
) -> None:
    async with raw_agent(answer, reset=reset) as url:
        assert (await failure(client, url))[:3] == (Broken, "E009", True)


async def test_an_agent_is_called_again_on_the_same_connection(client: Client) -> None:
    ports = []

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return web.json_response({})

    async with listening(handle) as url:
        for _ in range(3):
            await client.post(url, {}, limit_s=PATIENT_S)
    assert ports == [ports[0]] * 3


@asynccontextmanager
async def closing_agent(*, after: int) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that answers this many requests on a connection, and closes it when the next one comes.

    Gives its address, and by connection how many requests came.
    """
    counts: list[int] = []
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(counts)
        counts.append(0)
        writers.append(writer)
        while counts[number] <= after:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                # The client, or the end of the test, has closed the connection.
                break
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            counts[number] += 1
            if counts[number] <= after:
                writer.write(b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", counts
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()


async def test_a_kept_connection_that_the_agent_has_closed_is_not_its_fault(client: Client) -> None:
    async with closing_agent(after=1) as (url, counts):
        replies = [await client.post(url, {}, limit_s=PATIENT_S) for _ in range(3)]
    assert ([reply.status for reply in replies], counts) == ([500, 500, 500], [2, 2, 1])


async def test_a_new_connection_that_the_agent_closes_is_a_failure(client: Client) -> None:
    async with closing_agent(after=0) as (url, counts):
        assert (await failure(client, url))[0] is Broken
    assert counts == [1]


async def test_a_reply_that_comes_byte_by_byte_ends_at_the_limit_for_lines() -> None:
    """Each piece costs the referee time, however short it is."""
    connection, transport = LimitedConnection(asyncio.get_running_loop()), Mock()
    connection.connection_made(transport)
    connection.begin_call()
    for _ in range(MAX_LINES):
        connection.data_received(b"x")
    assert not transport.abort.called
    connection.data_received(b"x")
    assert transport.abort.called
