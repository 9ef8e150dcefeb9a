"""A tool as a server declares it in a table: its name, schema and hints, without the function behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.mcp.context import Context
from league_sdk.mcp.registry import Tool, ToolResult


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A tool of the league manager, a referee or a player.

    Attributes:
        name: the name of the tool, and of its method in league.v2.
        title: for people.
        description: for people and language models.
        properties: JSON Schema of each argument.
        required: the arguments without which it is refused.
        writes: whether it changes anything that lasts.
        repeatable: whether calling it twice does no more than calling it once.
        destroys: whether something that was there before is gone afterwards.
        output_schema: JSON Schema of what it answers.
    """

    name: str
    title: str
    description: str
    properties: dict[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    writes: bool = False
    repeatable: bool = True
    destroys: bool = False
    output_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments; agents send more fields than are asked for, so none is refused."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": True,
        }

    @property
    def annotations(self) -> dict[str, bool]:
        """The hints of MCP: nothing that our tools do reaches beyond the league."""
        hints = {"readOnlyHint": not self.writes, "openWorldHint": False}
        return hints | ({"destructiveHint": self.destroys, "idempotentHint": self.repeatable} if self.writes else {})

    @property
    def as_listed(self) -> dict[str, Any]:
        """The tool in ``list_tools`` of league.v2."""
        return {"name": self.name, "description": self.description, "inputSchema": self.input_schema}

    def served_by(self, call: Callable[[Context, dict[str, Any]], Awaitable[ToolResult]]) -> Tool:
        """The tool with the function behind it, for a registry."""
        return Tool(
            self.name, self.title, self.description, call, self.input_schema, self.output_schema, self.annotations
        )
