"""Long parts of answers are made once and then copied; work that takes long is begun at once and finished elsewhere."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from league_sdk.mcp.context import Context
from league_sdk.mcp.kept import Encoded
from league_sdk.mcp.registry import Tool, ToolResult
from league_sdk.mcp.requests import Unfinished, begin_at_once, run_at_once, takes_long
from tests.league_sdk.mcp.talking import Talk, handshake_body, stateless


async def test_the_list_of_tools_is_made_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    as_json = Tool.as_json

    def noted(tool: Tool) -> dict[str, Any]:
        made.append(tool.name)
        return as_json(tool)

    monkeypatch.setattr(Tool, "as_json", noted)
    talk = Talk()
    names = list(talk.server.registry.tools)
    body, headers = stateless("tools/list")
    for number in range(3):
        # Two clients of the handshake era, one of which reads streams only, and one of the stateless era.
        answers = [
            await talk.send(handshake_body("tools/list", rpc_id=number)),
            await talk.send(handshake_body("tools/list", rpc_id=number), accept="text/event-stream"),
            await talk.send(body | {"id": number}, **headers),
        ]
        for answer in answers:
            assert [tool["name"] for tool in answer.result["tools"]] == names
            assert answer.body["id"] == number
        assert answers[-1].result["resultType"] == "complete"
    assert made == names


async def test_a_tool_that_is_added_is_listed() -> None:
    talk = Talk()
    await talk.send(handshake_body("tools/list"))
    echo = talk.server.registry.tools["echo"]
    talk.server.registry.add(Tool("new", "New", "For tests.", echo.call))
    answer = await talk.send(handshake_body("tools/list"))
    assert answer.result["tools"][-1]["name"] == "new"


async def test_an_object_that_is_json_already_is_put_into_the_answer_as_it_is() -> None:
    odd = b'{"a": "<x>structuredContent", "\\u2028":[1e2]}'

    async def call(context: Context, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult([], Encoded(odd), extra_fields={"more": Encoded(b"{}")})

    talk = Talk()
    talk.server.registry.add(Tool("ready", "Ready", "For tests.", call))
    body, headers = stateless("tools/call", name="ready", arguments={})
    stateless_era = await talk.send(body, **headers)
    handshake_era = await talk.send(handshake_body("tools/call", name="ready"))
    for answer in (stateless_era, handshake_era):
        assert answer.result["structuredContent"] == json.loads(odd)
        assert answer.result["content"] == [{"type": "text", "text": odd.decode()}]
    reply = await talk.server.handle(talk.request(body, **headers))
    assert isinstance(reply.body, bytes) and b'"structuredContent":' + odd in reply.body
    # Extra fields are for clients of the handshake era.
    assert ("more" in stateless_era.result, handshake_era.result["more"]) == (False, {})


def test_work_that_takes_long_is_begun_at_once_and_finished_elsewhere() -> None:
    steps: list[str] = []

    async def work() -> int:
        steps.append("begun")
        await takes_long()
        steps.append("goes on")
        await takes_long()
        return 7

    begun = begin_at_once(work())
    assert isinstance(begun, Unfinished) and steps == ["begun"]
    assert begun.finish() == 7
    assert run_at_once(work()) == 7
    assert asyncio.run(work()) == 7


def test_work_that_waits_for_something_is_refused_without_an_event_loop() -> None:
    loop = asyncio.new_event_loop()
    ended: list[bool] = []

    async def work() -> None:
        try:
            await takes_long()
            await loop.create_future()
        finally:
            ended.append(True)

    begun = begin_at_once(work())
    loop.close()
    assert isinstance(begun, Unfinished)
    with pytest.raises(RuntimeError, match="without an event loop"):
        begun.finish()
    assert ended == [True]
