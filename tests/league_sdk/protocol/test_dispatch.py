"""The dispatcher without a server around it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Exchange, Post, Reply, dispatch
from league_sdk.protocol.errors import MissingField, TooOften


async def echo(request: rpc.Request) -> Any:
    if request.method == "fail":
        raise RuntimeError("a bug")
    if request.method == "refuse":
        raise MissingField("match_id is missing.", field="match_id", expected="a match")
    if request.method == "slow down":
        raise TooOften("Too often.", retry_after_s=7)
    return request.params


async def serve(post: Post) -> Reply:
    exchange: Exchange[rpc.Request] = Exchange()
    return await dispatch(exchange, post, echo)


async def send(request: Any) -> tuple[int, Any]:
    """The HTTP status and the decoded reply to a request; None for no reply."""
    reply = await serve(Post(rpc.dumps(request), "application/json"))
    return reply.status, rpc.loads(reply.body) if isinstance(reply.body, bytes) else None


async def test_a_reply_repeats_the_id_with_its_type() -> None:
    for rpc_id in (1, "one", 1.5, None):
        request = {"jsonrpc": "2.0", "method": "echo", "params": {"a": [1]}, "id": rpc_id}
        assert await send(request) == (200, {"jsonrpc": "2.0", "result": {"a": [1]}, "id": rpc_id})


async def test_an_error_reply_names_the_field_and_the_expected_value() -> None:
    status, reply = await send(rpc.call("refuse", {}, 1))
    assert (status, reply["id"], reply["error"]["code"]) == (200, 1, -32602)
    assert reply["error"]["data"] == {
        "error_code": "E003",
        "error_name": "MISSING_REQUIRED_FIELD",
        "context": {"field": "match_id", "seen": "null", "expected": "a match"},
    }


async def test_an_unexpected_exception_is_logged_and_not_shown_to_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    status, reply = await send(rpc.call("fail", {}, 1))
    assert (status, reply["error"]["code"]) == (200, -32603)
    assert reply["error"]["message"] == "The server failed; nothing was changed."
    assert "a bug" not in json.dumps(reply)
    assert [(one.getMessage(), one.exc_info is not None) for one in caplog.records] == [("a call of fail failed", True)]


async def test_a_rate_limit_reply_says_when_to_retry() -> None:
    reply = await serve(Post(rpc.dumps(rpc.call("slow down", {}, 1))))
    assert (reply.status, reply.headers) == (429, {"Retry-After": "7"})


@pytest.mark.parametrize(("method", "status"), [("echo", 204), ("fail", 204), ("refuse", 204), ("slow down", 429)])
async def test_a_notification_gets_no_reply(method: str, status: int) -> None:
    assert await send({"jsonrpc": "2.0", "method": method, "params": {}}) == (status, None)
