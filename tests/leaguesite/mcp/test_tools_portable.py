"""The schemas of the tools of our three servers, as clients of MCP can read them: some refuse a part without a type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from league_sdk.judging.door import tools as of_a_referee
from league_sdk.mcp.declaring import DeclaredTool
from league_sdk.player import tools as of_a_player
from leaguesite.mcp import tools as of_the_league_manager
from tests.sizes import sampled

SERVERS = {"league manager": of_the_league_manager, "referee": of_a_referee, "player": of_a_player}
TOOLS = {f"{name}: {tool.name}": tool for name, module in SERVERS.items() for tool in module.TOOLS}
KEYS_OF_TYPES = {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"}
"""Each part of a schema must have one of these keys."""


def parts(schema: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A schema and those of the values within it, each with its path; ``allOf`` only adds conditions."""
    if not isinstance(schema, dict):
        return
    yield where, schema
    for word in ("properties", "$defs"):
        for name, part in schema.get(word, {}).items():
            yield from parts(part, f"{where}.{name}")
    for word in ("items", "additionalProperties"):
        yield from parts(schema.get(word), f"{where}.{word}")
    for word in ("anyOf", "oneOf"):
        for part in schema.get(word, []):
            yield from parts(part, f"{where}.{word}")


@pytest.mark.parametrize("tool", sampled(TOOLS.values()), ids=TOOLS)
def test_every_part_of_a_schema_says_which_values_it_takes(tool: DeclaredTool) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert [where for where, part in parts(schema, tool.name) if not KEYS_OF_TYPES & set(part)] == []
        # A list of types is legal, but clients whose language has one type for each value cannot read it.
        assert [where for where, part in parts(schema, tool.name) if isinstance(part.get("type"), list)] == []
