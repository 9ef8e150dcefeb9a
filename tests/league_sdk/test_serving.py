"""A port of ours: what is read of a body, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, web

from league_sdk.protocol.dispatch import Post, Reply
from league_sdk.protocol.errors import TooLarge
from league_sdk.protocol.limits import MAX_BODY_BYTES
from league_sdk.serving import Port, read_post, response


async def size(request: web.BaseRequest) -> web.Response:
    try:
        post: Post = await read_post(request)
    except TooLarge as error:
        return response(Reply(error.http_status))
    return response(
        Reply(body=str(len(post.body)).encode(), headers={"Seen": f"{post.content_type}; {post.authorization}"})
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


@pytest.mark.parametrize("told", [True, False], ids=["Content-Length", "chunked"])
async def test_a_body_has_an_end(address: str, told: bool) -> None:
    async with ClientSession() as http:
        for kib, expected in ((64, (200, "65536")), (65, (413, ""))):
            data = b"x" * 1024 * kib if told else chunks(kib)
            async with http.post(address, data=data) as answer:
                assert (answer.status, await answer.text()) == expected


async def test_heads_are_handed_on(address: str) -> None:
    async with ClientSession() as http:
        headers = {"Content-Type": "application/json", "Authorization": "Bearer x"}
        async with http.post(address, data=b"{}", headers=headers) as answer:
            assert answer.headers["Seen"] == "application/json; Bearer x"


async def test_a_port_that_is_taken() -> None:
    one, other = Port(size), Port(size)
    number = await one.open("127.0.0.1")
    with pytest.raises(OSError, match="in use"):
        await other.open("127.0.0.1", number)
    await other.close()
    await one.close()


def test_the_limit_is_the_protocols() -> None:
    assert MAX_BODY_BYTES == 64 * 1024
