"""The list of tools is long: whoever asks for it without end costs a server no more than a copy."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.mcp.registry import Tool
from tests.league_sdk.mcp.talking import Talk, handshake, stateless


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
        answers = [
            await talk.send(handshake("tools/list", rpc_id=number)),
            await talk.send(handshake("tools/list", rpc_id=number), accept="text/event-stream"),
            await talk.send(body | {"id": number}, **headers),
        ]
        for answer in answers:
            assert [tool["name"] for tool in answer.result["tools"]] == names
            assert answer.body["id"] == number
        assert answers[-1].result["resultType"] == "complete"
    assert made == names


async def test_a_tool_that_is_added_is_listed() -> None:
    talk = Talk()
    await talk.send(handshake("tools/list"))
    echo = talk.server.registry.tools["echo"]
    talk.server.registry.add(Tool("new", "New", "For tests.", echo.call))
    answer = await talk.send(handshake("tools/list"))
    assert answer.result["tools"][-1]["name"] == "new"
