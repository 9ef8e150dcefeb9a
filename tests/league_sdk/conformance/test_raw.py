"""The request by hand: what it sends, and every way in which an answer may come or fail to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from league_sdk.conformance.raw import PIECES, RawFailed, RawReply, post_slowly
from league_sdk.transport.policy import EndpointPolicy

BODY = b'{"jsonrpc":"2.0","method":"ping","id":1}'
JSON = "application/json"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@asynccontextmanager
async def answering(answer: bytes, seen: list[bytes]) -> AsyncIterator[str]:
    """A server that reads one request and says ``answer``, whatever it was."""

    ended: list[asyncio.Event] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.append(asyncio.Event())
        try:
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            size = 0
            while size < len(BODY) and (piece := await reader.read(1000)):
                seen.append(piece)
                size += len(piece)
            writer.write(answer)
        finally:
            writer.close()
            await asyncio.wait({asyncio.ensure_future(writer.wait_closed())})
            ended[0].set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp?x=1"
        for one in ended:
            await one.wait()


async def ask(answer: bytes) -> tuple[RawReply, list[bytes]]:
    seen: list[bytes] = []
    async with answering(answer, seen) as url:
        return await post_slowly(url, BODY, policy=EndpointPolicy(), limit_s=5), seen


async def test_the_body_goes_out_in_pieces() -> None:
    reply, seen = await ask(HEAD + b"Content-Length: 2\r\n\r\n{}")
    head, *pieces = seen
    assert reply == RawReply(200, "application/json", b"{}")
    assert head.startswith(b"POST /mcp?x=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nContent-Length: %d\r\n" % len(BODY) in head
    assert (b"".join(pieces), len(pieces)) == (BODY, PIECES)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (HEAD + b"\r\n{}", RawReply(200, JSON, b"{}")),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n", RawReply(200, JSON, b"{}")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 0\r\n\r\n", RawReply(200, JSON, b"")),
        (b"HTTP/1.0 404 Not Found\r\n\r\nno", RawReply(404, "", b"no")),
    ],
)  # fmt: skip
async def test_every_way_of_framing(answer: bytes, expected: RawReply) -> None:
    assert (await ask(answer))[0] == expected


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"hello\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        HEAD + b"Content-Length: 5\r\n\r\n{}",
        HEAD + b"Content-Length: many\r\n\r\n{}",
        HEAD + b"Content-Length: 99999999\r\n\r\n{}",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        HEAD + b"X: " + b"x" * 20_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_answer(answer: bytes) -> None:
    with pytest.raises(RawFailed) as caught:
        await ask(answer)
    assert str(caught.value).startswith("the connection broke off (")


async def test_nothing_that_the_policy_forbids_is_called() -> None:
    seen: list[bytes] = []
    async with answering(b"", seen) as url:
        port = int(url.split(":")[2].split("/")[0])
        with pytest.raises(RawFailed) as caught:
            await post_slowly(url, BODY, policy=EndpointPolicy(refused_ports=(port,)), limit_s=5)
    assert (str(caught.value), seen) == (f"port {port} belongs to the league site itself", [])


async def test_it_has_a_limit() -> None:
    seen: list[bytes] = []
    async with answering(HEAD + b"Content-Length: 2\r\n\r\n{}", seen) as url:
        with pytest.raises(RawFailed) as caught:
            await post_slowly(url, BODY, policy=EndpointPolicy(), limit_s=0.05)
    assert str(caught.value) == "no answer within 0.05 s"
