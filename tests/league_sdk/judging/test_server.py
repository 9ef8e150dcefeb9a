"""The HTTP side of a referee: every refusal is JSON-RPC, whatever was sent (ruling, section 5)."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from league_sdk.judging.referee import MOST_PASSED_ON, Referee
from league_sdk.protocol.limits import MAX_BODY_BYTES
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.starts import START, Link

JSON = {"Content-Type": "application/json"}
ANSWER = {"match_id": "R1M1", "auth_token": "tok_" + "7" * 32, "parity_choice": "odd"}


async def post(referee: Referee, link: Link, body: bytes) -> tuple[int, Any]:
    async with TestClient(TestServer(application(referee, link))) as client:  # type: ignore[arg-type]
        answer = await client.post("/mcp", data=body, headers=JSON)
        return answer.status, await answer.json(content_type=None)


def call(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 5}).encode()


@pytest.mark.parametrize("more", [1, 2, 1000, 10 * MAX_BODY_BYTES])
async def test_a_body_that_is_too_large(referee: Referee, link: Link, more: int) -> None:
    status, body = await post(referee, link, b" " * (MAX_BODY_BYTES + more))
    assert (status, body["error"]["code"], body["error"]["data"]["error_code"]) == (413, -32600, "E002")


async def test_a_failure_of_ours_is_said_in_json_rpc_too(
    referee: Referee, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise KeyError("never seen outside")

    monkeypatch.setattr(Referee, "callback", fail)
    status, body = await post(referee, link, call("GAME_JOIN_ACK", **ANSWER))
    assert (status, body["id"], body["error"]["code"], body["error"]["data"]["error_code"]) == (200, 5, -32603, "E009")
    assert "never seen" not in str(body)


async def test_a_refusal_repeats_no_token_and_no_endless_name(referee: Referee, link: Link) -> None:
    token = "tok_" + "7" * 32
    status, body = await post(referee, link, call(token + "x" * 5000))
    assert (status, body["error"]["code"]) == (200, -32601)
    assert token not in str(body)
    assert len(str(body)) < 2000


async def test_only_so_many_answers_are_passed_on_at_once(referee: Referee, link: Link) -> None:
    release = asyncio.Event()

    async def pass_on(message_type: str, message: Any) -> dict[str, Any]:
        await release.wait()
        return {"status": "RECEIVED"}

    link.pass_on = pass_on  # type: ignore[attr-defined]
    async with TestClient(TestServer(application(referee, link))) as client:  # type: ignore[arg-type]

        async def one() -> Any:
            answer = await client.post("/mcp", data=call("CHOOSE_PARITY_RESPONSE", **ANSWER), headers=JSON)
            return await answer.json()

        waiting = [asyncio.create_task(one()) for _ in range(MOST_PASSED_ON + 1)]
        done, _pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = [task.result() for task in done]
        assert refused["error"]["data"]["error_code"] == "E009"
        release.set()
        answers = await asyncio.gather(*waiting)
        assert [one.get("result") for one in answers if "result" in one] == [{"status": "RECEIVED"}] * MOST_PASSED_ON


async def test_a_start_whose_sender_has_hung_up_is_not_taken(referee: Referee, link: Link, stage: Stage) -> None:
    """A referee that stood still finds it in its mail when the match is another's."""
    async with TestClient(TestServer(application(referee, link))) as client:  # type: ignore[arg-type]
        assert client.port is not None
        for closes in (True, False):
            body = call("start_match", **START | {"match_id": f"R1M{closes:d}"})
            head = f"POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            with socket.create_connection(("127.0.0.1", client.port)) as sender:
                sender.sendall(f"{head}\r\n\r\n".encode() + body)
                if closes:
                    sender.close()
                # Another request is answered after this one.
                await client.post("/mcp", data=call("ping"), headers=JSON)
                await client.post("/mcp", data=call("ping"), headers=JSON)
    assert [key[1] for key in stage.begun] == ["R1M0"]
