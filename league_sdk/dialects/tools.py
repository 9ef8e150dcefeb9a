"""Tools of agents that are MCP servers: which of an agent's own stands for which message. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.dialects import inbound, shapes
from league_sdk.protocol.messages import MessageType

LIST_TOOLS = "tools/list"
MOST_NAME_CHARS = 80
"""Of a tool's name: it is repeated in every call and in notes."""
_TOOL_WORDS: dict[str, tuple[str, ...]] = {
    MessageType.GAME_INVITATION: ("invit", "join", "accept"),
    MessageType.CHOOSE_PARITY_CALL: ("parity", "choose", "choice", "pick", "select", "even or odd"),
    MessageType.GAME_MOVE_CALL: ("move", "play", "turn", "choose", "choice", "pick"),
    MessageType.GAME_OVER: ("over", "result", "finish", "ended", "outcome", "won"),
    MessageType.GAME_ERROR: ("error", "fault"),
    MessageType.ROUND_ANNOUNCEMENT: ("announce", "new round", "round start"),
    MessageType.LEAGUE_STANDINGS_UPDATE: ("standing", "ranking", "table"),
    MessageType.ROUND_COMPLETED: ("round complete", "round end", "end of round"),
    MessageType.LEAGUE_COMPLETED: ("league complete", "league end", "champion"),
}
"""By which words in its name and description a tool is known for what it is."""
_NAME_COUNTS = 3
"""A word in a tool's name says as much as so many in its description."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of an agent that is an MCP server.

    Attributes:
        takes: its argument names, None when its schema names none.
        texts: those of them that are texts.
    """

    name: str
    description: str
    takes: tuple[str, ...] | None
    texts: frozenset[str] = frozenset()

    def says(self, kind: str) -> int:
        """How much it looks like the tool for a message type."""
        name, described = self.name.lower().replace("_", " ").replace("-", " "), self.description.lower()
        words = _TOOL_WORDS.get(kind, ())
        return sum(_NAME_COUNTS * (word in name) + (word in described) for word in words)


def read_tools(body: Any) -> dict[str, Tool]:
    """An agent's answer to ``tools/list``."""
    result = body.get("result") if isinstance(body, Mapping) else None
    listed = result.get("tools") if isinstance(result, Mapping) else None
    found: dict[str, Tool] = {}
    for tool in listed[:50] if isinstance(listed, list) else []:
        facts = tool if isinstance(tool, Mapping) else {"name": tool}
        name, described, schema = facts.get("name"), facts.get("description"), facts.get("inputSchema")
        if not isinstance(name, str) or len(name) > MOST_NAME_CHARS:
            continue
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        arguments = properties if isinstance(properties, Mapping) else {}
        takes = tuple(str(key) for key in arguments) or None
        texts = frozenset(
            str(k) for k, of in arguments.items() if isinstance(of, Mapping) and of.get("type") == "string"
        )
        found[name] = Tool(name, described[:500] if isinstance(described, str) else "", takes, texts)
    return found


def choose_tool(tools: Mapping[str, Tool], kind: str) -> str | None:
    """The agent's tool for a message: by chapter 8's name, else the one that looks most like it, else None.

    Args:
        tools: by name.
        kind: the message type.
    """
    canonical = shapes.canonical_method(kind)
    if canonical in tools:
        return canonical
    ours = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
    # A move and a choice are one thing to an agent that has one tool for both.
    rivals = [other for other in _TOOL_WORDS if other != kind and not (other in ours and kind in ours)]
    best, most = None, 0
    for name, tool in tools.items():
        score = tool.says(kind)
        if score > most and score >= max(tool.says(other) for other in rivals):
            best, most = name, score
    if best is None:
        # One tool for every message.
        general = [name for name in tools if name.lower() in inbound.WRAPPER_METHODS]
        best = general[0] if general else next(iter(tools), None) if len(tools) == 1 else None
    return best
