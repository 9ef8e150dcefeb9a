"""The list of tools (004 8.11.2)."""

from __future__ import annotations

import pytest
from django.test import Client

from league_sdk.dialects.words import READY
from leaguesite.mcp import methods
from tests import wire

pytestmark = pytest.mark.django_db


def test_every_tool_has_a_name_a_description_and_a_schema(client: Client) -> None:
    tools = wire.ask(client, "list_tools", {})["tools"]
    offered = wire.ask(client, "tools/list", {})["tools"]
    assert tools == [{name: one[name] for name in ("name", "description", "inputSchema")} for one in offered]
    assert all({"title", "outputSchema", "annotations"} < set(one) for one in offered)
    assert [sorted(one) for one in tools] == [["description", "inputSchema", "name"]] * len(tools)
    assert {one["inputSchema"]["type"] for one in tools} == {"object"}
    for one in tools:
        assert set(one["inputSchema"]["required"]) <= set(one["inputSchema"]["properties"]), one["name"]


def test_the_list_is_complete_and_every_tool_in_it_can_be_called(client: Client) -> None:
    names = {one["name"] for one in wire.ask(client, "list_tools", {})["tools"]}
    # One method is no tool: the message that an agent is ready.
    assert names == set(methods.PUBLIC_NAMES) - {READY}
    for name in names:
        reply = wire.post(client, wire.request("tools/call", {"name": name, "arguments": {}})).json()
        refusal = reply.get("error", {}).get("code")
        assert refusal != -32601, name
