"""The names that agents use for our messages, methods and fields (ruling, section 3; 002)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from league_sdk.protocol.messages import BY_METHOD, MessageType

LEGACY_TYPES: dict[str, str] = {
    MessageType.LEAGUE_REGISTER_REQUEST: "PLAYER_REGISTER_REQUEST",
    MessageType.LEAGUE_REGISTER_RESPONSE: "PLAYER_REGISTER_RESPONSE",
    MessageType.GAME_INVITATION: "GAME_INVITE",
    MessageType.GAME_JOIN_ACK: "GAME_INVITE_RESPONSE",
    MessageType.CHOOSE_PARITY_CALL: "MOVE_REQUEST",
    MessageType.CHOOSE_PARITY_RESPONSE: "MOVE_RESPONSE",
    MessageType.GAME_MOVE_CALL: "MOVE_REQUEST",
    MessageType.GAME_MOVE_RESPONSE: "MOVE_RESPONSE",
    MessageType.GAME_OVER: "GAME_RESULT",
    MessageType.ROUND_COMPLETED: "ROUND_END",
    MessageType.MATCH_RESULT_REPORT: "MATCH_RESULT",
}
"""002's own names."""

ANSWERS = (MessageType.GAME_JOIN_ACK, MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE)
"""What a player may also send by a POST of its own."""

ALIASES: dict[str, str] = {
    "player_register": MessageType.LEAGUE_REGISTER_REQUEST,
    "league_register": MessageType.LEAGUE_REGISTER_REQUEST,
    "register": MessageType.LEAGUE_REGISTER_REQUEST,
    "register_agent": MessageType.LEAGUE_REGISTER_REQUEST,
    "join_league": MessageType.LEAGUE_REGISTER_REQUEST,
    "referee_register": MessageType.REFEREE_REGISTER_REQUEST,
    "match_result": MessageType.MATCH_RESULT_REPORT,
    "report_result": MessageType.MATCH_RESULT_REPORT,
    "report_match": MessageType.MATCH_RESULT_REPORT,
    "query_league": MessageType.LEAGUE_QUERY,
    "query": MessageType.LEAGUE_QUERY,
    "join_ack": MessageType.GAME_JOIN_ACK,
    "game_join": MessageType.GAME_JOIN_ACK,
    "join_game": MessageType.GAME_JOIN_ACK,
    "accept_invitation": MessageType.GAME_JOIN_ACK,
    "parity_choice": MessageType.CHOOSE_PARITY_RESPONSE,
    "parity_response": MessageType.CHOOSE_PARITY_RESPONSE,
    "choice": MessageType.CHOOSE_PARITY_RESPONSE,
    "game_move": MessageType.GAME_MOVE_RESPONSE,
    "move": MessageType.GAME_MOVE_RESPONSE,
    "move_response": MessageType.GAME_MOVE_RESPONSE,
}
"""Other names of the messages that come in, lower case."""

_PREFIXES = (
    "handle",
    "receive",
    "submit",
    "send",
    "process",
    "on",
    "league",
    "leaguemanager",
    "player",
    "referee",
    "mcp",
)
"""Also two of them, one after the other."""
_BY_NAME: dict[str, str] = {
    **{kind.lower(): kind for kind in MessageType},
    **BY_METHOD,
    **{legacy.lower(): kind for kind, legacy in LEGACY_TYPES.items() if kind != MessageType.GAME_MOVE_RESPONSE},
    **ALIASES,
}
_NO_LETTER = re.compile(r"[^a-z0-9]+", re.ASCII)
_BY_LETTERS: dict[str, str] = {_NO_LETTER.sub("", name): kind for name, kind in _BY_NAME.items()}


def message_type_of(name: object) -> str | None:
    """The message type that a method, tool or type name stands for, or None.

    Read without regard to case and to what joins its words (``registerPlayer``, ``register-player``); ``handle_``,
    ``receive_``, ``league.`` and the like may stand before it.
    """
    return _type_by_name(name) if isinstance(name, str) and len(name) <= 80 else None


@lru_cache(maxsize=512)
def _type_by_name(name: str) -> str | None:
    rests = [_NO_LETTER.sub("", name.lower())]
    for _ in range(3):
        known = next((rest for rest in rests if rest in _BY_LETTERS), None)
        if known is not None:
            return str(_BY_LETTERS[known])
        rests = [rest[len(prefix) :] for rest in rests for prefix in _PREFIXES if rest.startswith(prefix)]
    return None


CONTAINERS = ("message", "payload", "data", "params", "arguments", "body", "request")
"""Where a message may stand inside what was sent; looked into in this order."""
_DEEPEST = 4
_NOT_OURS = frozenset({"protocolVersion"})
"""Of the Model Context Protocol: its version is a date."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])", re.ASCII)


def _snaked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with ``matchId`` as ``match_id`` too: in the languages of some agents the humps are the custom."""
    found = dict(fields)
    for name in fields:
        if not name.islower() and len(name) <= 40 and name not in _NOT_OURS and _HUMP.search(name):
            found.setdefault(_HUMP.sub("_", name).lower(), fields[name])
    return found


def unwrap(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message, whatever containers it came in; what is further inside wins.

    ``{envelope, payload}`` is put together; 002's ``type`` stands as ``message_type`` too, ``matchId`` as ``match_id``.
    """
    found = _snaked(value)
    for _ in range(_DEEPEST):
        inner = {name: found[name] for name in CONTAINERS if isinstance(found.get(name), Mapping)}
        head = found.get("envelope")
        if isinstance(head, Mapping):
            inner["envelope"] = head
        if not inner:
            break
        for name in inner:
            del found[name]
        if isinstance(head, Mapping):
            found |= _snaked(head)
        for name in CONTAINERS:
            if name in inner:
                found |= _snaked(inner[name])
    if "message_type" not in found and message_type_of(found.get("type")):
        found["message_type"] = found["type"]
    if "conversation_id" not in found and isinstance(found.get("message_id"), str):
        found["conversation_id"] = found["message_id"]
    return found
