"""The names that agents use for our message types, methods and fields (ruling, section 3).

002 is an earlier document of the course, which names many things differently (docs/ruling.md).
"""

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
"""The names of 002."""

LEGACY_SHAPES = ("legacy", "legacy_flat")
"""The shapes of agents that registered in the words of 002."""
LEGACY_SIGNALS: dict[str, tuple[str, ...]] = {
    MessageType.ROUND_ANNOUNCEMENT: ("ROUND_START",),
    MessageType.ROUND_COMPLETED: ("ROUND_RESULT",),
}
"""Messages that only 002 has: an agent of 002 is sent each of them after our message with the same facts."""

ANSWERS = (MessageType.GAME_JOIN_ACK, MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE)
"""Answers that a player may also send by a POST of its own."""

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
"""Other names of inbound messages, lower case."""

READY = "AGENT_READY_REQUEST"
"""Some agents say after their registration that they are ready, and know no invitation."""

_PREFIXES = (
    *("handle", "receive", "submit", "send", "process", "on"),
    *("league", "leaguemanager", "player", "referee", "mcp"),
)
"""Prefixes that may stand before a name, even two of them."""
_BY_NAME: dict[str, str] = {
    **{kind.lower(): kind for kind in MessageType},
    **BY_METHOD,
    **{legacy.lower(): kind for kind, legacy in LEGACY_TYPES.items()},
    **ALIASES,
    **dict.fromkeys(("agent_ready_request", "agent_ready", "player_ready", "player_ready_request"), READY),
}
_NO_LETTER = re.compile(r"[^a-z0-9]+", re.ASCII)
_BY_LETTERS: dict[str, str] = {_NO_LETTER.sub("", name): kind for name, kind in _BY_NAME.items()}


def message_type_of(name: object) -> str | None:
    """The message type that a method, tool or type name means, or None.

    Case and what joins the words do not matter (``registerPlayer``, ``register-player``); a prefix such as
    ``handle_`` or ``league.`` may stand before it.
    """
    return _type_by_name(name) if isinstance(name, str) and len(name) <= 80 else None


@lru_cache(maxsize=512)
def _type_by_name(name: str) -> str | None:
    candidates = [_NO_LETTER.sub("", name.lower())]
    for _ in range(3):
        for candidate in candidates:
            if candidate in _BY_LETTERS:
                return str(_BY_LETTERS[candidate])
        candidates = [text[len(prefix) :] for text in candidates for prefix in _PREFIXES if text.startswith(prefix)]
    return _registration_by_words(name)


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.ASCII)
_TO_REGISTER = frozenset({"register", "registration", "signup", "enroll", "enrol"})
_OF_REGISTERING = _TO_REGISTER | {
    "league",
    "player",
    "referee",
    "agent",
    "request",
    "new",
    "a",
    "my",
    "as",
    "for",
    "tool",
}


def _registration_by_words(name: str) -> str | None:
    """The registration that a name means by its words, in whatever order: ``REGISTER_PLAYER_REQUEST``."""
    words = {word.lower() for word in _WORD.findall(name)}
    if not words & _TO_REGISTER or not words <= _OF_REGISTERING:
        return None
    return str(MessageType.REFEREE_REGISTER_REQUEST if "referee" in words else MessageType.LEAGUE_REGISTER_REQUEST)


CONTAINERS = ("message", "payload", "data", "params", "arguments", "body", "request")
"""Fields in which a message may be wrapped; they are opened in this order."""
_MAX_DEPTH = 4
_NOT_OURS = frozenset({"protocolVersion"})
"""Fields of MCP that must not be read as ours."""
_OTHER_CASE = re.compile(r"[a-z0-9][A-Z]|-|^[A-Z]", re.ASCII)
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])", re.ASCII)


def _with_snake_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, each in another case (``matchId``, ``MATCH_ID``, ``match-id``) also in snake case (``match_id``)."""
    both = dict(fields)
    for name in fields:
        if (
            (not name.islower() or "-" in name)
            and len(name) <= 40
            and name not in _NOT_OURS
            and _OTHER_CASE.search(name)
        ):
            both.setdefault(_WORD_BOUNDARY.sub("_", name).replace("-", "_").lower(), fields[name])
    return both


def unwrap(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message, whatever it is wrapped in; of two fields with one name the inner one wins.

    ``{envelope, payload}`` is put together; 002's ``type`` is copied to ``message_type``, ``matchId`` to ``match_id``.
    """
    fields = _with_snake_case(value)
    for _ in range(_MAX_DEPTH):
        names = [name for name in ("envelope", *CONTAINERS) if isinstance(fields.get(name), Mapping)]
        if not names:
            break
        for inner in [fields.pop(name) for name in names]:
            fields |= _with_snake_case(inner)
    if "message_type" not in fields and message_type_of(fields.get("type")):
        fields["message_type"] = fields["type"]
    if "conversation_id" not in fields and isinstance(fields.get("message_id"), str):
        fields["conversation_id"] = fields["message_id"]
    return fields
