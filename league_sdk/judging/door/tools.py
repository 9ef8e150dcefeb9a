"""A referee's tools: names, schemas, hints, for ``list_tools`` and for clients of MCP (004 5.4.1; ruling, section 3).

The steps of a match are tools that start nothing: they tell a player of the match what its GAME_OVER told it, and
nothing before that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from league_sdk.dialects.shapes import canonical_method
from league_sdk.dialects.words import ANSWERS
from league_sdk.judging.door.answers import SCHEMAS
from league_sdk.mcp.declaring import DeclaredTool
from league_sdk.protocol import own_tools
from league_sdk.protocol.messages import START_MATCH, START_MATCHES, MessageType

GET_MATCH_STATE = "get_match_state"
COLLECT_CHOICES, DRAW_NUMBER, FINALIZE_MATCH = "collect_choices", "draw_number", "finalize_match"
NOTIFICATIONS = frozenset({MessageType.ROUND_ANNOUNCEMENT, MessageType.LEAGUE_COMPLETED})
"""Messages that need no action; those of the league manager are passed on to judging, which logs them."""
STARTS = frozenset({START_MATCH, START_MATCHES})
"""Messages that are taken from the league manager only."""
FOR_JUDGING = frozenset({*STARTS, GET_MATCH_STATE, COLLECT_CHOICES, DRAW_NUMBER, FINALIZE_MATCH, *ANSWERS})
NAMES = sorted([*FOR_JUDGING, "ping", *own_tools.LIST_NAMES, *NOTIFICATIONS])

_TEXT = {"type": "string"}
_TOKEN = {"auth_token": {"type": "string", "description": "your own; or send it as Authorization: Bearer"}}
_MATCH = {
    "match_id": {"type": "string", "description": "such as R1M1"},
    "league_id": {"type": "string", "description": "left out, the league of your token"},
}
_SEAT = {
    "type": "object",
    "description": "id, endpoint, dialect, league_token, auth_token_sha256, your_standings",
}
_START: dict[str, Any] = {
    "league_id": _TEXT,
    "round_id": {"type": "integer"},
    "match_id": _MATCH["match_id"],
    "attempt": {"type": "integer", "minimum": 1},
    "game_type": {"type": "string", "description": "such as even_odd"},
    "conversation_id": _TEXT,
    "settings": {"type": "object", "description": "of the league"},
    "player_A": _SEAT,
    "player_B": _SEAT,
}


def _step(name: str, title: str, description: str) -> DeclaredTool:
    """A step of a match, told when it is over."""
    sentence = f"{description} For its players, once GAME_OVER was told; starts nothing."
    return DeclaredTool(name, title, sentence, _MATCH | _TOKEN, ("match_id",))


_ANSWERS: dict[MessageType, tuple[str, dict[str, Any]]] = {
    MessageType.GAME_JOIN_ACK: ("Accept a match", {"accept": {"type": "boolean"}}),
    MessageType.CHOOSE_PARITY_RESPONSE: ("Send a choice", {"parity_choice": {"enum": ["even", "odd"]}}),
    MessageType.GAME_MOVE_RESPONSE: ("Send a move", {"move_data": {"type": "object"}}),
}


def _answer(kind: MessageType) -> DeclaredTool:
    """An answer that a player sends by a call of its own."""
    title, field = _ANSWERS[kind]
    sentence = f"Your {kind}, if you send it by a call of your own and not as the reply; with your auth_token."
    properties = _MATCH | field | {"player_id": _TEXT} | _TOKEN
    return DeclaredTool(canonical_method(kind), title, sentence, properties, ("match_id", *field), writes=True)


_TOOLS: tuple[DeclaredTool, ...] = (
    DeclaredTool(
        START_MATCH,
        "Start a match",
        "Play a match. For the league manager only, with this referee's league_token.",
        _START | {"auth_token": {"type": "string", "description": "the league_token; or Authorization: Bearer"}},
        tuple(_START),
        writes=True,
    ),
    _step(COLLECT_CHOICES, "Choices", "What the players of a match have chosen."),
    _step(DRAW_NUMBER, "Drawn number", "The number that was drawn in a match, and its seed."),
    _step(FINALIZE_MATCH, "Result", "How a match ended."),
    DeclaredTool(
        GET_MATCH_STATE,
        "State of a match",
        "State and public view of a match in play. For its players, each with its own auth_token.",
        _MATCH | _TOKEN,
        ("match_id",),
    ),
    *(_answer(kind) for kind in ANSWERS),
    *(
        DeclaredTool(canonical_method(kind), title, f"Take note of {kind}.", {"league_id": _TEXT})
        for kind, title in (
            (MessageType.ROUND_ANNOUNCEMENT, "Announce a round"),
            (MessageType.LEAGUE_COMPLETED, "End the league"),
        )
    ),
    DeclaredTool("ping", "Ping", "Whether the referee answers."),
    DeclaredTool("list_tools", "Tools", "This list."),
)
TOOLS = tuple(replace(tool, output_schema=SCHEMAS[tool.name]) for tool in _TOOLS)
"""The tools that this referee lists. The league manager also calls start_matches."""


def list_tools() -> dict[str, Any]:
    """The answer to ``list_tools`` as the course defines it: every tool with name, description and inputSchema."""
    return {"tools": [tool.as_listed for tool in TOOLS]}
