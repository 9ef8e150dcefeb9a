"""A server's reply that comes through its bridge is read as if the server had been called directly."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest

from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import Way
from league_sdk.transport.client import Broken, NotReached
from league_sdk.transport.relayed import reply_of

BOMB = base64.b64encode(gzip.compress(b"0" * 9**6)).decode()
JSON = {"content-type": "application/json"}


async def test_a_json_rpc_response_is_the_body_of_a_good_reply() -> None:
    response = {"jsonrpc": "2.0", "id": 7, "result": {"accept": True}}
    reply = await reply_of(response, 0.5)
    assert (reply.status, reply.body, reply.problem, reply.elapsed_s) == (200, response, "", 0.5)


async def test_status_headers_and_body_are_those_of_the_server() -> None:
    http = {"status": 404, "headers": JSON | {"Retry-After": "3"}, "body": '{"detail": "Not Found"}'}
    reply = await reply_of({"id": 7, "http": http}, 0)
    assert (reply.status, reply.body, reply.problem) == (404, {"detail": "Not Found"}, "")
    assert reply.headers["retry-after"] == "3"


async def test_a_page_is_kept_as_the_agents_own_words() -> None:
    http = {"status": 200, "headers": {"content-type": "text/html"}, "body": "<h1>My stack trace</h1>"}
    reply = await reply_of({"id": 7, "http": http}, 0)
    assert reply.body is None
    assert reply.problem
    assert "My stack trace" in reply.text


async def test_bytes_that_are_not_text_are_sent_as_base64() -> None:
    packed = base64.b64encode(gzip.compress(b'{"accept": true}')).decode()
    http = {"status": 200, "headers": JSON | {"content-encoding": "gzip"}, "base64": packed}
    assert (await reply_of({"id": 7, "http": http}, 0)).body == {"accept": True}


async def test_an_empty_reply_has_no_body() -> None:
    reply = await reply_of({"id": 7, "http": {"status": 204, "headers": {}}}, 0)
    assert (reply.status, reply.body, reply.problem) == (204, None, "")


@pytest.mark.parametrize(("sent", "kind"), [(False, NotReached), (True, Broken), ("yes", NotReached)])
async def test_a_server_that_did_not_reply_is_reported(sent: Any, kind: type[Exception]) -> None:
    http = {"problem": "nobody listens at\x1b[2J http://localhost:8101/mcp", "sent": sent}
    with pytest.raises(kind, match="its bridge says: nobody listens at") as caught:
        await reply_of({"id": 7, "http": http}, 0)
    assert "\x1b" not in str(caught.value)
    # A relay's word is no evidence that the message never arrived.
    assert (caught.value.connected, caught.value.cause) == (True, Cause.CONNECT)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "http",
    [
        {},
        {"status": "200", "headers": {}},
        {"status": 5, "headers": {}},
        {"status": True, "headers": {}},
        {"status": 200, "headers": []},
        {"status": 200, "headers": {}, "base64": "?"},
        {"status": 200, "headers": {"content-encoding": "gzip"}, "body": "no gzip"},
        {
            "status": 200,
            "headers": {"content-encoding": "gzip"},
            "base64": BOMB,
        },
        {"status": 200, "headers": {"\ud800": "x"}},
    ],
)
async def test_what_cannot_be_read_is_a_broken_reply_of_the_bridge(http: dict[str, Any]) -> None:
    with pytest.raises(Broken) as caught:
        await reply_of({"id": 7, "http": http}, 0)
    assert caught.value.way == Way.BRIDGE
