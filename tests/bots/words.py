"""Names and builders of the messages of 004 chapter 8, for all bots.

Imports nothing of the project, which the bots test.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

INVITE, CHOOSE, OVER, ERROR = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "GAME_ERROR"
ROUND, TABLE = "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE"
ROUND_END, LEAGUE_END = "ROUND_COMPLETED", "LEAGUE_COMPLETED"
ANSWERS = {INVITE: "GAME_JOIN_ACK", CHOOSE: "CHOOSE_PARITY_RESPONSE"}
CHAPTER_8 = {
    "handle_game_invitation": INVITE,
    "choose_parity": CHOOSE,
    "notify_match_result": OVER,
    "notify_game_error": ERROR,
    "notify_round": ROUND,
    "update_standings": TABLE,
    "notify_round_completed": ROUND_END,
    "notify_league_completed": LEAGUE_END,
}
REQUIRED_TOOLS = dict(list(CHAPTER_8.items())[:3])


def stamp(later_s: float = 0) -> str:
    """The timestamp of now, or of ``later_s`` seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=later_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def rpc(method: str, params: Any, rpc_id: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": rpc_id}


def rpc_result(result: Any, rpc_id: Any) -> dict[str, Any]:
    """A JSON-RPC response with a result."""
    return {"jsonrpc": "2.0", "result": result, "id": rpc_id}


def rpc_error(code: int, why: str, rpc_id: Any) -> dict[str, Any]:
    """A JSON-RPC error response."""
    return {"jsonrpc": "2.0", "error": {"code": code, "message": why}, "id": rpc_id}


def message(kind: str, sender: str, conversation: Any, *, at: str = "", **fields: Any) -> dict[str, Any]:
    """A message with the envelope of league.v2; ``at`` is its timestamp, by default now."""
    return {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": sender,
        "timestamp": at or stamp(),
        "conversation_id": conversation,
        **fields,
    }


def answer(kind: str, question: Mapping[str, Any], player_id: Any, **fields: Any) -> dict[str, Any]:
    """A player's answer to a message about its match; the fields may include ``auth_token`` and ``at``."""
    about = {"match_id": question.get("match_id"), "player_id": player_id}
    if kind == "GAME_JOIN_ACK":
        about["arrival_timestamp"] = fields.get("at") or stamp()
    return message(kind, f"player:{player_id}", question.get("conversation_id"), **about | fields)


def meta(name: str, endpoint: str, *games: str, **more: Any) -> dict[str, Any]:
    """The ``player_meta`` or ``referee_meta`` of a registration."""
    described = {"display_name": name, "version": "1.0.0", "game_types": list(games or ["even_odd"])}
    return described | {"contact_endpoint": endpoint} | more


def registration(of: str, name: str, conversation: str, about: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A request for registration; ``of`` is ``player`` or ``referee``, ``about`` is the agent's meta."""
    kind = "LEAGUE_REGISTER_REQUEST" if of == "player" else "REFEREE_REGISTER_REQUEST"
    return message(kind, f"{of}:{name}", conversation, **fields, **{f"{of}_meta": about})
