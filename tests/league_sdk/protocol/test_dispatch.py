"""The dispatcher: what comes in and what goes out, without a server around it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Exchange, Loopback, Post, Reply, dispatch
from league_sdk.protocol.errors import MissingField, TooOften


async def echo(asked: rpc.Request) -> Any:
    if asked.method == "fail":
        raise RuntimeError("a bug")
    if asked.method == "refuse":
        raise MissingField("match_id is missing.", field="match_id", expected="a match")
    if asked.method == "slow down":
        raise TooOften("Too often.", retry_after_s=7)
    return asked.params


async def serve(post: Post) -> Reply:
    exchange: Exchange[rpc.Request] = Exchange()
    return await dispatch(exchange, post, echo)


@pytest.fixture
def server() -> Loopback:
    return Loopback(serve)


async def test_an_answer_repeats_the_id_with_its_type(server: Loopback) -> None:
    for rpc_id in (1, "one", 1.5, None):
        request = {"jsonrpc": "2.0", "method": "echo", "params": {"a": [1]}, "id": rpc_id}
        assert await server.send(request) == (200, {"jsonrpc": "2.0", "result": {"a": [1]}, "id": rpc_id})


async def test_a_refusal_says_what_was_wrong(server: Loopback) -> None:
    status, reply = await server.send(rpc.call("refuse", {}, 1))
    assert (status, reply["id"], reply["error"]["code"]) == (200, 1, -32602)
    assert reply["error"]["data"] == {
        "error_code": "E003",
        "error_name": "MISSING_REQUIRED_FIELD",
        "context": {"field": "match_id", "seen": "null", "expected": "a match"},
    }


async def test_a_failure_of_ours_is_logged_and_tells_nothing(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    status, reply = await server.send(rpc.call("fail", {}, 1))
    assert (status, reply["error"]["code"]) == (200, -32603)
    assert reply["error"]["message"] == "The server failed; nothing was changed."
    assert "a bug" not in json.dumps(reply)
    assert [(one.getMessage(), one.exc_info is not None) for one in caplog.records] == [("a call of fail failed", True)]


async def test_too_often_says_when_to_come_again() -> None:
    reply = await serve(Post(rpc.dumps(rpc.call("slow down", {}, 1))))
    assert (reply.status, reply.headers) == (429, {"Retry-After": "7"})


@pytest.mark.parametrize(("method", "status"), [("echo", 204), ("fail", 204), ("refuse", 204), ("slow down", 429)])
async def test_a_notification_is_never_answered(server: Loopback, method: str, status: int) -> None:
    assert await server.send({"jsonrpc": "2.0", "method": method, "params": {}}) == (status, None)
