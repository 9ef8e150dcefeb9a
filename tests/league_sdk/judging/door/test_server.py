"""The HTTP side of a referee: every refusal is JSON-RPC, whatever was sent (ruling, section 5)."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from league_sdk.judging.worker.referee import MAX_FORWARDED_CALLBACKS, Referee
from league_sdk.protocol.limits import MAX_BODY_BYTES
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.starts import START, Link
from tests.league_sdk.mcp.talking import stateless

JSON = {"Content-Type": "application/json"}
ANSWER = {"match_id": "R1M1", "auth_token": "tok_" + "7" * 32, "parity_choice": "odd"}


async def post(referee: Referee, link: Link, body: bytes) -> tuple[int, Any]:
    async with TestClient(TestServer(application(referee, link))) as client:  # type: ignore[arg-type]
        answer = await client.post("/mcp", data=body, headers=JSON)
        return answer.status, await answer.json(content_type=None)


def call(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 5}).encode()


@pytest.mark.parametrize("bytes_over", [1, 2, 1000, 10 * MAX_BODY_BYTES])
async def test_a_referee_refuses_a_body_that_is_too_large(referee: Referee, link: Link, bytes_over: int) -> None:
    status, body = await post(referee, link, b" " * (MAX_BODY_BYTES + bytes_over))
    assert (status, body["error"]["code"], body["error"]["data"]["error_code"]) == (413, -32600, "E002")


async def test_an_internal_error_is_answered_in_json_rpc(
    referee: Referee, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise KeyError("never seen outside")

    monkeypatch.setattr(Referee, "callback", fail)
    status, body = await post(referee, link, call("GAME_JOIN_ACK", **ANSWER))
    assert (status, body["id"], body["error"]["code"], body["error"]["data"]["error_code"]) == (200, 5, -32603, "E009")
    assert "never seen" not in str(body)


async def test_an_error_repeats_no_token_and_no_long_name(referee: Referee, link: Link) -> None:
    token = "tok_" + "7" * 32
    status, body = await post(referee, link, call(token + "x" * 5000))
    assert (status, body["error"]["code"]) == (200, -32601)
    assert token not in str(body)
    assert len(str(body)) < 2000


async def test_the_number_of_callbacks_forwarded_at_once_is_limited(referee: Referee, link: Link) -> None:
    release = asyncio.Event()

    async def pass_on(message_type: str, message: Any) -> dict[str, Any]:
        await release.wait()
        return {"status": "RECEIVED"}

    link.forward = pass_on  # type: ignore[attr-defined]
    async with TestClient(TestServer(application(referee, link))) as client:  # type: ignore[arg-type]

        async def send_callback() -> Any:
            answer = await client.post("/mcp", data=call("CHOOSE_PARITY_RESPONSE", **ANSWER), headers=JSON)
            return await answer.json()

        waiting = [asyncio.create_task(send_callback()) for _ in range(MAX_FORWARDED_CALLBACKS + 1)]
        done, _pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = [task.result() for task in done]
        assert refused["error"]["data"]["error_code"] == "E009"
        release.set()
        answers = await asyncio.gather(*waiting)
        assert [one.get("result") for one in answers if "result" in one] == [
            {"status": "RECEIVED"}
        ] * MAX_FORWARDED_CALLBACKS


@pytest.mark.parametrize("speaks", ["league.v2", "MCP"])
async def test_a_start_whose_sender_is_gone_is_not_taken(
    referee: Referee, link: Link, stage: Stage, speaks: str
) -> None:
    """A referee that was stopped for a while reads such a start when another referee has the match."""
    async with TestClient(TestServer(application(referee, link))) as client:  # type: ignore[arg-type]
        assert client.port is not None
        for closes in (True, False):
            fields = START | {"match_id": f"R1M{closes:d}"}
            body, headers = call("start_match", **fields), {"Host": "here", "Content-Type": "application/json"}
            if speaks == "MCP":
                message, named = stateless("tools/call", name="start_match", arguments=fields)
                body = json.dumps(message).encode()
                headers |= {name.replace("_", "-"): value for name, value in named.items()}
            headers["Content-Length"] = str(len(body))
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            with socket.create_connection(("127.0.0.1", client.port)) as sender:
                sender.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
                if closes:
                    sender.close()
                # These give the door time to read the start.
                await client.post("/mcp", data=call("ping"), headers=JSON)
                await client.post("/mcp", data=call("ping"), headers=JSON)
    assert [key[1] for key in stage.begun] == ["R1M0"]


@pytest.mark.parametrize("method", ["list_tools", "tools/list"])
async def test_a_referee_lists_the_tools_that_it_has(referee: Referee, link: Link, method: str) -> None:
    status, body = await post(referee, link, call(method))
    tools = {tool["name"]: tool for tool in body["result"]["tools"]}
    assert (status, {"start_match", "get_match_state", "ping", "list_tools"} <= tools.keys()) == (200, True)
    assert tools["get_match_state"]["inputSchema"]["required"] == ["match_id"]
    for name in tools:
        _, answer = await post(referee, link, call(name, match_id="R9M9"))
        assert answer.get("error", {}).get("code") != -32601, name


async def test_get_match_state_without_a_token_is_refused_as_e011(referee: Referee, link: Link) -> None:
    _, body = await post(referee, link, call("get_match_state", match_id="R1M1"))
    assert (body["error"]["code"], body["error"]["data"]["error_code"]) == (-32001, "E011")
    assert body["error"]["data"]["context"]["action"] == "get_match_state"
