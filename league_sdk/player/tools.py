"""A player's tools: names, schemas and hints, for ``list_tools`` and for clients of MCP (004 5.4.1, chapter 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from league_sdk.mcp.declaring import DeclaredTool
from league_sdk.player.answers import SCHEMAS
from league_sdk.protocol.messages import METHODS, MessageType

_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
_ENVELOPE = {
    "protocol": {"type": "string", "const": "league.v2"},
    "sender": {"type": "string", "description": "type:id, such as referee:REF01"},
    "timestamp": {"type": "string", "description": "YYYY-MM-DDTHH:MM:SSZ, in UTC"},
    "conversation_id": {
        "type": "string",
        "description": "the answer repeats it; default: made from the match_id",
    },
    "auth_token": {"type": "string", "description": "of the caller; or send it as Authorization: Bearer"},
}
_MATCH = {
    "match_id": {"type": "string", "description": "such as R1M1"},
    "league_id": _TEXT,
    "round_id": {"type": "integer"},
    "game_type": {"type": "string", "description": "such as even_odd"},
    "opponent_id": {"type": "string", "description": "such as P02"},
}
_DEADLINE = {"deadline": {"type": "string", "description": "until when the answer counts, in UTC"}}
_MOVE = {
    "type": "object",
    "properties": {
        "valid_options": {"type": "array", "minItems": 1, "description": "the moves that are allowed now"},
        "move_type": _TEXT,
        "context": {"type": "object", "description": "what the player may see of the game"},
    },
    "required": ["valid_options"],
}
_RESULT = {
    "type": "object",
    "properties": {
        "status": _TEXT,
        "winner_player_id": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": "null without a winner",
        },
        "drawn_number": {"type": "integer"},
        "choices": {"type": "object", "description": "by player id"},
    },
}


def _notification(kind: MessageType, title: str, description: str, **properties: Any) -> DeclaredTool:
    """A message that asks for nothing."""
    return DeclaredTool(METHODS[kind], title, description, properties | _ENVELOPE, writes=True, repeatable=False)


_TOOLS: tuple[DeclaredTool, ...] = (
    DeclaredTool(
        METHODS[MessageType.GAME_INVITATION],
        "Invite to a match",
        "Accept a match, by GAME_JOIN_ACK.",
        _MATCH | {"role_in_match": _TEXT} | _ENVELOPE,
        ("match_id",),
        writes=True,
    ),
    DeclaredTool(
        METHODS[MessageType.CHOOSE_PARITY_CALL],
        "Choose even or odd",
        "Choose even or odd: the same for the same match and conversation_id.",
        _MATCH | {"player_id": _TEXT, "context": _OBJECT} | _DEADLINE | _ENVELOPE,
        ("match_id",),
        writes=True,
    ),
    DeclaredTool(
        METHODS[MessageType.GAME_MOVE_CALL],
        "Make a move",
        "Choose one of the moves in move_request.valid_options.",
        _MATCH | {"player_id": _TEXT, "move_request": _MOVE} | _DEADLINE | _ENVELOPE,
        ("match_id", "move_request"),
        writes=True,
    ),
    DeclaredTool(
        METHODS[MessageType.GAME_OVER],
        "Tell a result",
        "Take note of how a match ended.",
        _MATCH | {"game_result": _RESULT} | _ENVELOPE,
        ("match_id", "game_result"),
        writes=True,
    ),
    _notification(
        MessageType.GAME_ERROR, "Tell an error", "Take note of an error in a match.", **_MATCH, error=_OBJECT
    ),
    _notification(
        MessageType.ROUND_ANNOUNCEMENT,
        "Announce a round",
        "Take note of the matches of a round.",
        league_id=_TEXT,
        round_id=_MATCH["round_id"],
        matches={"type": "array", "items": _OBJECT},
    ),
    _notification(
        MessageType.LEAGUE_STANDINGS_UPDATE,
        "Tell the table",
        "Take note of the table.",
        league_id=_TEXT,
        standings={"type": "array", "items": _OBJECT},
    ),
    _notification(
        MessageType.ROUND_COMPLETED,
        "End a round",
        "Take note that a round is over.",
        league_id=_TEXT,
        round_id=_MATCH["round_id"],
    ),
    _notification(
        MessageType.LEAGUE_COMPLETED, "End the league", "Take note that the league is over.", league_id=_TEXT
    ),
    DeclaredTool("ping", "Ping", "Whether the player answers."),
    DeclaredTool(
        "get_player_state",
        "History",
        "Its matches so far (004 8.11.2); with its auth_token or league_token, as auth_token or Authorization: Bearer.",
        {"auth_token": {"type": "string", "description": "the player's own, or the league's to it"}},
    ),
)
TOOLS = tuple(replace(tool, output_schema=SCHEMAS[tool.name]) for tool in _TOOLS)
"""The tools that clients of MCP are offered; the course's ``list_tools`` is not among them."""


def list_tools() -> dict[str, Any]:
    """Every tool with name, description and inputSchema: ``list_tools`` of the course."""
    listing = DeclaredTool("list_tools", "Tools", "This list.")
    return {"tools": [tool.as_listed for tool in (*TOOLS, listing)]}
