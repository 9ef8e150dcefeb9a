"""Arguments that a player's MCP server wants repeated in HTTP headers (``x-mcp-header`` in a tool's schema)."""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from typing import Any

import pytest

from league_sdk.dialects import discovery, session
from league_sdk.dialects.arguments import Argument, read_schema
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.mirrored import MAX_VALUE_CHARS, mirrored
from league_sdk.dialects.session import Session
from league_sdk.dialects.tools import read_tools
from league_sdk.transport.client import Client
from tests.mcp_suite.serving import fixture_port, fixture_server

STRING = {"type": "string"}


def listed(**properties: dict[str, Any]) -> dict[str, Any]:
    """An answer to ``tools/list`` with one tool of these arguments."""
    schema = {"type": "object", "properties": properties}
    return {"result": {"tools": [{"name": "choose_parity", "inputSchema": schema}]}}


def annotated(header: Any, **schema: Any) -> dict[str, Any]:
    return {**(schema or STRING), "x-mcp-header": header}


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("R1M1", "R1M1"),
        ("", ""),
        ("two words", "two words"),
        (7, "7"),
        (True, "true"),
        ("wähle", "=?base64?d8OkaGxl?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        # A value cannot begin another header.
        ("a\r\nX-Other: b", "=?base64?YQ0KWC1PdGhlcjogYg==?="),
        # A value that looks encoded is encoded once more: the server decodes once.
        ("=?base64?AA==?=", "=?base64?PT9iYXNlNjQ/QUE9PT89?="),
    ],
)
def test_a_value_is_repeated_in_its_header_and_encoded_if_need_be(value: Any, header: str) -> None:
    assert mirrored([Argument("matchId", header="Match")], {"matchId": value}) == {"mcp-param-match": header}


@pytest.mark.parametrize("value", [None, 1.5, [1], "x" * (MAX_VALUE_CHARS + 1)])
def test_other_values_are_in_no_header(value: Any) -> None:
    assert mirrored([Argument("matchId", header="Match")], {"matchId": value}) == {}


@pytest.mark.parametrize(
    "properties",
    [
        {"matchId": annotated("")},
        {"matchId": annotated("Match Id")},
        {"matchId": annotated("Match:Id")},
        {"matchId": annotated("Mätch")},
        {"matchId": annotated("Match\r\nX")},
        {"matchId": annotated("M" * 61)},
        {"matchId": annotated(None)},
        {"matchId": annotated(["Match"])},
        *({"matchId": annotated("Match", type=kind)} for kind in ("object", "array", "number", "null")),
        {"matchId": annotated("Match"), "roundId": annotated("match", type="integer")},
        {"game": {"type": "object", "properties": {"matchId": annotated("Match Id")}}},
    ],
)
def test_a_tool_that_asks_for_an_impossible_header_is_not_called(properties: dict[str, Any]) -> None:
    assert read_tools(listed(**properties)) == {}
    assert list(read_tools(listed(matchId=STRING))) == ["choose_parity"]


def test_a_memory_that_learns_from_another_repeats_the_same_arguments() -> None:
    inside = {"type": "object", "properties": {"playerId": annotated("Player")}}
    first, second = Memory(), Memory()
    first.tools = read_tools(listed(matchId=annotated("Match"), game=inside))
    # `assign_tools` notes which tool takes which message, and `shared` gives only tools that are noted.
    first.assign_tools()
    second.learn_from({}, json.loads(json.dumps(first.shared())))
    values = {"matchId": "R1M1", "game": {"playerId": "P01"}}
    for memory in (first, second):
        assert memory.mirrored("choose_parity", values) == {"mcp-param-match": "R1M1", "mcp-param-player": "P01"}
        assert memory.mirrored("another", values) == {}


def test_only_a_server_of_the_stateless_version_gets_the_headers() -> None:
    memory = Memory(tools=read_tools(listed(matchId=annotated("Match"))))
    call = {"method": "tools/call", "params": {"name": "choose_parity", "arguments": {"matchId": "R1M1"}}}
    _body, headers = Session(version="2026-07-28").prepared(call, memory.mirrored)
    assert headers["mcp-param-match"] == "R1M1"
    _body, headers = Session(version="2025-06-18").prepared(call, memory.mirrored)
    assert "mcp-param-match" not in headers


def test_an_argument_that_may_be_null_has_a_header_too() -> None:
    either = {"anyOf": [STRING, {"type": "null"}], "x-mcp-header": "Match"}
    assert read_schema({"properties": {"matchId": either}}) == (Argument("matchId", "string", header="Match"),)


async def test_a_server_that_insists_on_its_headers_takes_the_call() -> None:
    server, memory, next_id = fixture_server(), Memory(), partial(next, count(1))
    port, client = fixture_port(server), Client(agent_type="league_manager")
    try:
        post = partial(client.post, f"http://127.0.0.1:{await port.open('127.0.0.1')}/mcp")
        await discovery.discover(post, memory, next_id, limit_s=5)
        # A call of a tool (in the shape "tools_list") one of whose arguments has to be in a header, too.
        body, _unfilled = (memory.tools or {})["test_header_param"].call("tools_list", {"region": "Köln"}, next_id())
        reply = await session.through(post, body, memory, next_id, limit_s=5)
    finally:
        await client.aclose()
        server.close()
        await port.close()
    assert (reply.status, reply.body["result"]["content"][0]["text"]) == (200, "The header is what is tested.")
    # Had the server refused the call, it would have been repeated in a session of an older version.
    assert memory.session == Session(version="2026-07-28")
