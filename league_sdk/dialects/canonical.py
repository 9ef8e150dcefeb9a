"""004 chapters 4 and 8 to the letter outbound; every documented place of an answer inbound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import parse_stamp
from league_sdk.protocol.errors import InvalidTimestamp
from league_sdk.protocol.messages import METHODS, MessageType

NAME = "canonical"

_WRAPPERS = ("payload", "data", "message")
_NO = frozenset({"REJECTED", "REFUSED", "DECLINED"})
_YES = frozenset({"ACCEPTED", "RECEIVED", "ACK"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent answered.

    Attributes:
        message: the fields of the message, unwrapped; empty when there were none.
        refused: the error object, when it answered with one.
        notes: what was tolerated, for the transcript.
    """

    message: dict[str, Any]
    refused: Any
    notes: tuple[str, ...]


def wrap(message: Mapping[str, Any], *, rpc_id: int) -> dict[str, Any]:
    """A call as chapter 8 shows it: the canonical method, the message as params."""
    return rpc.call(METHODS[MessageType(message["message_type"])], message, rpc_id)


def read_answer(body: Any, *, rpc_id: int) -> Answer:
    """Find the message in a decoded HTTP reply: ``result``, then ``params``, then the body itself.

    Args:
        body: the decoded JSON.
        rpc_id: the id our request had.
    """
    if not isinstance(body, Mapping):
        return Answer({}, None, ("the reply is not a JSON object",))
    notes: list[str] = []
    refused = body.get("error")
    found: Any = body.get("result")
    if not isinstance(found, Mapping):
        if isinstance(body.get("params"), Mapping):
            found = body["params"]
            notes.append("a request in place of a reply")
        elif "jsonrpc" not in body:
            found = body
            notes.append("no JSON-RPC around the reply")
    elif body.get("id") != rpc_id:
        notes.append(f"id was {body.get('id')!r:.40}, expected {rpc_id}")
    message = _unwrap(found) if isinstance(found, Mapping) else {}
    return Answer(message, refused if not message else None, tuple(notes))


def _unwrap(found: Mapping[str, Any]) -> dict[str, Any]:
    message = dict(found)
    for name in _WRAPPERS:
        inner = message.get(name)
        if isinstance(inner, Mapping):
            message = {**message, **inner}
    return message


def accepted(message: Mapping[str, Any]) -> bool | None:
    """Whether a GAME_JOIN_ACK accepts (004 4.4.2): True, False, or None when it does not say."""
    for name in ("accept", "accepted"):
        if isinstance(message.get(name), bool):
            return bool(message[name])
    status = message.get("status")
    word = status.upper() if isinstance(status, str) else ""
    return True if word in _YES else False if word in _NO else None


def choice(message: Mapping[str, Any], field: str) -> Any:
    """The move in a response, or None when there is none (004 4.5.2, 3.8.2)."""
    for name in (field, "choice"):
        if name in message:
            return message[name]
    move = message.get("move_data")
    return move.get("choice") if isinstance(move, Mapping) else None


def oddities(message: Mapping[str, Any], *, match_id: str, player_id: str) -> list[str]:
    """What a synchronous answer got wrong without harm, for the student to mend."""
    notes = []
    for field, expected in (("match_id", match_id), ("player_id", player_id)):
        seen = message.get(field)
        if seen is not None and seen != expected:
            notes.append(f"{field} was {seen!r:.40}, expected {expected}")
    if "timestamp" in message:
        try:
            parse_stamp(message["timestamp"])
        except InvalidTimestamp:
            notes.append("timestamp not UTC")
    return notes
