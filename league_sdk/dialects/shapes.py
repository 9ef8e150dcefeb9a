"""The shapes: every way of sending a message to an agent, by name (ruling, section 3).

A shape is a method name and the structure around the message. Nearly all carry the same fields (``data_envelope`` does
not); which one an agent understands is found out by trying (:mod:`league_sdk.dialects.hunt`).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.dialects.words import LEGACY_TYPES
from league_sdk.protocol import rpc
from league_sdk.protocol.messages import METHODS, MessageType

Message = Mapping[str, Any]
_METHODS: dict[str, str] = {str(kind): method for kind, method in METHODS.items()}
_ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token")


@dataclass(frozen=True, slots=True)
class Shape:
    """One way of sending messages.

    Attributes:
        name: as it is stored and shown.
        method: the method for a message type; empty when none is sent.
        wrap: makes the body from message and JSON-RPC id.
    """

    name: str
    method: Callable[[str], str]
    wrap: Callable[[Message, int], dict[str, Any]]


def canonical_method(message_type: str) -> str:
    """The method of 004 chapter 8 for a message type; one without a method is its own method."""
    return _METHODS.get(message_type, message_type)


def _parity_choose(message_type: str) -> str:
    return "parity_choose" if message_type == MessageType.CHOOSE_PARITY_CALL else canonical_method(message_type)


def _camel(message_type: str) -> str:
    head, *humps = canonical_method(message_type).lower().split("_")
    return head + "".join(hump.capitalize() for hump in humps)


def _constant(name: str) -> Callable[[str], str]:
    return lambda _: name


def _plain(name: str, method: Callable[[str], str]) -> Shape:
    return Shape(name, method, lambda message, rpc_id: rpc.call(method(message["message_type"]), message, rpc_id))


def _nested(name: str, method: str, change: Callable[[Message], Message] = dict) -> Shape:
    """A shape with the message in ``params.message`` and also in ``params``, as some agents read it there."""

    def wrap(message: Message, rpc_id: int) -> dict[str, Any]:
        changed = dict(change(message))
        return rpc.call(method, changed | {"message": changed}, rpc_id)

    return Shape(name, _constant(method), wrap)


def _tool(message: Message, rpc_id: int) -> dict[str, Any]:
    name = canonical_method(message["message_type"])
    return rpc.call("tools/call", {"name": name, "arguments": dict(message)}, rpc_id)


def _league_handle(message: Message, rpc_id: int) -> dict[str, Any]:
    head = {name: message[name] for name in _ENVELOPE if name in message}
    rest = {name: value for name, value in message.items() if name not in _ENVELOPE}
    return rpc.call("league.handle", {"envelope": head, "payload": rest}, rpc_id)


def legacy_message(message: Message) -> dict[str, Any]:
    """The message in the envelope and with the type names of 002; its fields also stay at the top."""
    kind = LEGACY_TYPES.get(message["message_type"], message["message_type"])
    rest = {name: value for name, value in message.items() if name not in _ENVELOPE}
    if "auth_token" in message:
        rest["auth_token"] = message["auth_token"]
    return {
        **message,
        "message_id": str(uuid.uuid4()),
        "type": kind,
        "message_type": kind,
        "correlation_id": message.get("conversation_id"),
        "payload": rest,
    }


def _legacy(message: Message, rpc_id: int) -> dict[str, Any]:
    changed = legacy_message(message)
    return rpc.call(changed["type"], changed, rpc_id)


def _legacy_type(message_type: str) -> str:
    return LEGACY_TYPES.get(message_type, message_type)


_MOVE_CALLS = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
MOVES_HANDLE = "league_handle_moves"
"""``league.handle`` of agents that wait for REQUEST_MOVE in whatever game."""


def _handle_moves(message: Message, rpc_id: int) -> dict[str, Any]:
    kind = "REQUEST_MOVE" if message["message_type"] in _MOVE_CALLS else message["message_type"]
    return _league_handle({**message, "message_type": kind}, rpc_id)


_DATA_ENVELOPE = (*_ENVELOPE, "league_id")
_ROUND_AND_MATCH = re.compile(r"R(\d+)M(\d+)", re.ASCII)


def _numbered(match_id: str) -> str:
    """A match's id in digits, for agents that want ``M-<digits>``: another number for each match of a league."""
    parts = _ROUND_AND_MATCH.fullmatch(match_id)
    return f"M-{parts[1]}{int(parts[2]):04d}" if parts else f"M-{int.from_bytes(match_id.encode()[:12], 'big')}"


def _strict_data(message: Message) -> dict[str, Any]:
    """The fields that an agent with strict models takes of a message; all of them where no such model was seen."""
    kind, match_id = message["message_type"], _numbered(str(message.get("match_id", "")))
    if kind == MessageType.GAME_INVITATION:
        return {
            "match_id": match_id,
            "round_id": message.get("round_id"),
            "opponent_id": f"player:{message.get('opponent_id')}",
            "role_in_match": str(message.get("role_in_match", "")).removeprefix("PLAYER_"),
        }
    if kind == MessageType.CHOOSE_PARITY_CALL:
        return {"match_id": match_id}
    result = message.get("game_result")
    if kind == MessageType.GAME_OVER and isinstance(result, Mapping):
        first, second = [*dict(result.get("choices") or {}).values(), None, None][:2]
        number, winner = result.get("drawn_number"), result.get("winner_player_id")
        return {
            "match_id": match_id,
            "winner": f"player:{winner}" if winner else "DRAW",
            "player_a_choice": first,
            "player_b_choice": second,
            "random_number": number,
            "calculation": str(result.get("reason", "")),
            "round_duration_ms": message.get("duration_ms", 0),
        }
    return {name: value for name, value in message.items() if name not in _DATA_ENVELOPE}


def _data_envelope(message: Message, rpc_id: int) -> dict[str, Any]:
    head = {name: message[name] for name in _DATA_ENVELOPE if name in message}
    kind = message["message_type"]
    named = "CHOOSE_PARITY" if kind == MessageType.CHOOSE_PARITY_CALL else kind
    return {**head, "message_type": named, "type": named, "request_id": str(rpc_id), "data": _strict_data(message)}


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        _plain("canonical", canonical_method),
        _plain("message_type", str),
        _plain("parity_choose", _parity_choose),
        Shape("tools_call", _constant("tools/call"), _tool),
        # With the names of the agent's own tools, from its tools/list; with the canonical ones until they are known.
        Shape("tools_list", _constant("tools/call"), _tool),
        _plain("tools_methods", canonical_method),
        _nested("handle_message", "handle_message"),
        _nested("protocol_message", "protocol/message", legacy_message),
        _nested("protocol_canonical", "protocol/message"),
        _nested("handle_legacy", "handle_message", legacy_message),
        Shape("league_handle", _constant("league.handle"), _league_handle),
        Shape(MOVES_HANDLE, _constant("league.handle"), _handle_moves),
        Shape("flat", _constant(""), lambda message, _: dict(message)),
        Shape("data_envelope", _constant(""), _data_envelope),
        Shape("legacy", _legacy_type, _legacy),
        Shape("legacy_flat", _constant(""), lambda message, _: legacy_message(message)),
        _nested("mcp_message", "mcp_message"),
        _nested("message", "message"),
        _plain("camel", _camel),
        # Names that agents often give their tools and methods; several requests each.
        Shape("tools_guess", _constant("tools/call"), _tool),
        _plain("methods_guess", canonical_method),
    )
}
"""The shapes, in the order in which they are tried after those of :data:`LIKELY`."""

CANONICAL = "canonical"
LIKELY: dict[str, tuple[str, ...]] = {
    "canonical": ("canonical", "parity_choose"),
    "parity_choose": ("parity_choose", "canonical"),
    "tools_call": ("tools_call", "tools_list", "protocol_message", "protocol_canonical"),
    "tools_list": ("tools_list", "tools_call", "tools_guess"),
    "tools_methods": ("tools_methods", "tools_list", "canonical", "methods_guess"),
    "handle_message": ("handle_message", "handle_legacy"),
    "handle_legacy": ("handle_legacy", "handle_message"),
    "protocol_message": ("protocol_message", "protocol_canonical"),
    "protocol_canonical": ("protocol_canonical", "protocol_message"),
    "legacy": ("legacy", "legacy_flat"),
    "legacy_flat": ("legacy_flat", "legacy"),
    "league_handle": ("league_handle", MOVES_HANDLE),
    MOVES_HANDLE: (MOVES_HANDLE, "league_handle"),
    "data_envelope": ("data_envelope", "canonical", "message_type"),
    "flat": ("flat", "message_type", "legacy_flat"),
}
"""For the shape that an agent understood before, the shapes to try first; the rest of :data:`SHAPES` follows."""


def order(dialect: str, spoken: Mapping[str, str], message_type: str) -> list[str]:
    """The names of the shapes to try for a message, most likely first.

    Args:
        dialect: the shape in which the agent registered.
        spoken: by message type, the shape that it understood.
    """
    known = [spoken[message_type]] if message_type in spoken else []
    # An agent that understood one message in some shape probably understands the others in it.
    others = [shape for kind, shape in spoken.items() if kind != message_type]
    likely = [name for shape in (*known, *others, dialect) for name in LIKELY.get(shape, (shape,))]
    names = [*known, *others, *likely, *SHAPES]
    return [name for name in dict.fromkeys(names) if name in SHAPES]


def signature(shape: str, message_type: str) -> tuple[str, str]:
    """A key that two shapes share if they send this message in the same form; some shapes differ for some types."""
    family = "plain" if shape in _PLAIN_FAMILY else shape
    if shape == MOVES_HANDLE and message_type not in _MOVE_CALLS:
        family = "league_handle"
    return family, SHAPES[shape].method(message_type)


_PLAIN_FAMILY = frozenset({"canonical", "message_type", "parity_choose", "tools_methods", "camel", "methods_guess"})


OF_TOOLS = ("tools_list", "tools_methods")
"""The shapes that use the names of an agent's own tools: as tools, and as methods."""
GUESSES = {"tools_guess": "tools_list", "methods_guess": "tools_methods"}
"""The shapes that try likely names; each with the shape that uses a name which was understood."""
