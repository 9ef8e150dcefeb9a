"""Agents that are MCP servers: which of their tools takes which message. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.dialects import inbound, shapes
from league_sdk.dialects.arguments import Argument, fill, plain_name, read_schema
from league_sdk.dialects.mirrored import is_sound
from league_sdk.protocol import rpc
from league_sdk.protocol.messages import MessageType

LIST_TOOLS = "tools/list"
MAX_TOOLS = 50
"""The limit for the tools of one agent: each is compared with every message."""
MAX_TOOL_NAME_CHARS = 80
"""The name of a tool is repeated in every call and in notes."""
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
"""Words in the name or the description of a tool for this message."""
_WORD_BOUNDARY = re.compile(r"[_\W]+|(?<=[a-z0-9])(?=[A-Z])")
"""The boundary between two words of a name in camelCase, snake_case or any other style."""
_NAME_WEIGHT = 3
"""A word in a tool's name counts as much as three in its description."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of an agent; ``arguments`` is None if its schema names none."""

    name: str
    description: str = ""
    arguments: tuple[Argument, ...] | None = None

    def likeness(self, kind: str) -> int:
        """How much it looks like the tool for a message type: a score."""
        name, described = _WORD_BOUNDARY.sub(" ", self.name).lower(), self.description.lower()
        words = _TOOL_WORDS.get(kind, ())
        return sum(_NAME_WEIGHT * (word in name) + (word in described) for word in words)

    def call(self, shape: str, message: Mapping[str, Any], rpc_id: int) -> tuple[dict[str, Any], tuple[str, ...]]:
        """A call of this tool.

        Args:
            shape: one of :data:`league_sdk.dialects.shapes.OF_TOOLS` or ``GUESSES``.
            message: in its canonical form.

        Returns:
            The body, and the required arguments that are not among our fields.
        """
        if shape in ("tools_methods", "methods_guess"):
            return rpc.call(self.name, message, rpc_id), ()
        values, unfilled = (dict(message), ()) if self.arguments is None else fill(self.arguments, message)
        return rpc.call("tools/call", {"name": self.name, "arguments": values}, rpc_id), unfilled


def read_tools(body: Any) -> dict[str, Tool]:
    """An agent's answer to ``tools/list``, without tools that MCP says not to call."""
    result = body.get("result") if isinstance(body, Mapping) else None
    listed = result.get("tools") if isinstance(result, Mapping) else None
    tools: dict[str, Tool] = {}
    for tool in listed[:MAX_TOOLS] if isinstance(listed, list) else []:
        facts = tool if isinstance(tool, Mapping) else {"name": tool}
        name, described, schema = facts.get("name"), facts.get("description"), facts.get("inputSchema")
        if not isinstance(name, str) or len(name) > MAX_TOOL_NAME_CHARS:
            continue
        arguments = read_schema(schema)
        if is_sound(arguments or ()):
            tools[name] = Tool(name, described[:500] if isinstance(described, str) else "", arguments)
    return tools


GUESSED: dict[str, tuple[str, ...]] = {
    MessageType.GAME_INVITATION: (
        *("receive_game_invitation", "receive_invitation", "game_invitation", "accept_invitation"),
        *("handle_invitation", "join_game"),
    ),
    MessageType.CHOOSE_PARITY_CALL: (
        *("submit_choice", "make_choice", "receive_choose_parity", "submit_parity_choice"),
        *("get_choice", "choose"),
    ),
    MessageType.GAME_MOVE_CALL: (
        "submit_move",
        "receive_move_request",
        "get_move",
        "play_move",
        "request_move",
        "move",
    ),
    MessageType.GAME_OVER: (
        *("notify_game_over", "receive_game_over", "receive_match_result", "notify_game_result"),
        *("receive_game_result", "game_over"),
    ),
}
"""Names that students give their tools and methods (``tests/bots/zoo/since.py``), tried if there is no list of them."""


def choose_tool(tools: Mapping[str, Tool], kind: str) -> str | None:
    """The name of the agent's tool for a message type; None if it has none.

    It is the tool with 004 chapter 8's name or that of the type, whatever its capitals and punctuation; else the most
    similar one; else one that takes every message.
    """
    canonical = shapes.canonical_method(kind)
    if canonical in tools:
        return canonical
    for named in (plain_name(canonical), plain_name(kind)):
        for name in tools:
            if plain_name(name) == named:
                return name
    move_calls = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
    # An agent may have one tool for moves and for parity choices: these two do not compete.
    rivals = [other for other in _TOOL_WORDS if other != kind and not (other in move_calls and kind in move_calls)]
    best, best_score = None, 0
    for name, tool in tools.items():
        score = tool.likeness(kind)
        if score > best_score and score >= max(tool.likeness(other) for other in rivals):
            best, best_score = name, score
    if best is None:
        # The agent has one tool for every message.
        general = [name for name in tools if name.lower() in inbound.WRAPPER_METHODS]
        best = general[0] if general else next(iter(tools), None) if len(tools) == 1 else None
    return best
