"""Inbound: finding what an agent answered, wherever in its reply it stands (ruling, sections 3 and 9)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from league_sdk.dialects.words import unwrap
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import parse_stamp
from league_sdk.protocol.errors import InvalidTimestamp, NotJson
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, Note, note

ACCEPT_FIELDS = ("accept", "accepted", "join", "joined")
CHOICE_FIELDS = ("choice", "move", "parity", "selection", "decision", "answer")
"""Beside the game's own name for a choice, at the top or in ``move_data``."""
YES_WORDS = frozenset({"ACCEPTED", "ACCEPT", "RECEIVED", "ACK", "ACKNOWLEDGED", "JOINED", "READY", "TRUE", "YES"})
NO_WORDS = frozenset({"REJECTED", "REJECT", "REFUSED", "DECLINED", "FALSE", "NO"})
BARE_CHOICES = frozenset({"even", "odd"})
"""What a result that is a mere word may be: other words are no moves of any game."""
RECEIPT_WORDS = frozenset({"RECEIVED", "ACK", "ACKNOWLEDGED", "ACCEPTED", "PENDING", "PROCESSING", "QUEUED"})
"""As a status without a choice: the message has arrived, and the answer may follow by a POST."""
_UNKNOWN_WORDS = (
    "unknown",
    "not_found",
    "not found",
    "unsupported",
    "unhandled",
    "error",
    "invalid",
    "not implemented",
)
_NESTED = ("result", "response")
_RPC_FIELDS = ("jsonrpc", "id", "method", "params", "result", "error")
_MOVE_CALLS = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)


class Understanding(Enum):
    """What a reply says about whether the request was understood."""

    ANSWERED = "answered"
    """It holds what was asked for."""
    RECEIPT = "receipt"
    """It was understood, and the answer may come by a POST."""
    VAGUE = "vague"
    """A success that says nothing."""
    NOT_UNDERSTOOD = "not understood"
    """One of the spellings of "method not found"."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent answered.

    Attributes:
        message: the fields of the message, unwrapped; empty when there were none.
        refused: the error it answered with, when it did.
        notes: what was tolerated, for the transcript.
    """

    message: dict[str, Any]
    refused: Any
    notes: tuple[Note, ...]


def read_answer(body: Any, *, rpc_id: int | str) -> Answer:
    """Find the message in a decoded HTTP reply: ``result``, then ``params``, then the body itself.

    Args:
        body: the decoded JSON.
        rpc_id: the id our request had.
    """
    notes: list[Note] = []
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
        notes.append(note(Code.LIST))
    if not isinstance(body, Mapping):
        return Answer({}, None, () if body is None else (note(Code.NO_OBJECT),))
    refused = body.get("error") or None
    found: Any = body.get("result")
    if isinstance(found, str):
        found = found if found in BARE_CHOICES else _from_text(found)
    if isinstance(found, (bool, int, str)):
        notes.append(note(Code.BARE_VALUE))
        found = {"accept": found} if isinstance(found, bool) else {"choice": found}
    if isinstance(found, Mapping):
        if body.get("id") != rpc_id:
            notes.append(note(Code.ID, seen=f"{body.get('id')!r:.40}", expected=rpc_id))
        if "error" in body:
            notes.append(note(Code.ERROR_BESIDE_RESULT))
    elif isinstance(body.get("params"), Mapping):
        found = body["params"]
        notes.append(note(Code.REQUEST_FOR_REPLY))
    elif "jsonrpc" not in body and "result" not in body:
        found = body
        notes.append(note(Code.NO_RPC))
    elif beside := {name: value for name, value in body.items() if name not in _RPC_FIELDS}:
        found = beside
        notes.append(note(Code.BESIDE_RESULT))
    if not isinstance(found, Mapping):
        return Answer({}, refused, tuple(notes))
    message = _message(found, notes)
    return Answer(message, refused, tuple(notes))


def _message(found: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
    """Out of ``content[0].text``, ``structuredContent``, ``{envelope, payload}``, ``data`` and the like."""
    for _ in range(3):
        content = found.get("content")
        structured = found.get("structuredContent")
        nested = next((found[name] for name in _NESTED if isinstance(found.get(name), Mapping)), None)
        inner: Any = None
        if isinstance(structured, Mapping):
            inner = _bare(structured)
        elif isinstance(content, list) and content and isinstance(content[0], Mapping):
            inner = _bare(_from_text(content[0].get("text")))
        elif nested is not None:
            inner = nested
        if not isinstance(inner, Mapping):
            break
        notes.append(note(Code.IN_TOOL_RESULT if nested is None else Code.NESTED))
        rest = {key: value for key, value in found.items() if key not in ("content", "structuredContent", *_NESTED)}
        found = {**rest, **inner}
    message = unwrap(found)
    if any(isinstance(found.get(name), Mapping) for name in ("payload", "data", "message", "envelope")):
        notes.append(note(Code.NESTED))
    return message


def _bare(value: Any) -> Any:
    """A tool's bare value as fields: libraries hand out ``true`` as it stands or as ``{"result": true}``."""
    if isinstance(value, Mapping) and set(value) == {"result"}:
        value = value["result"] if not isinstance(value["result"], str) else _from_text(value["result"])
    if isinstance(value, bool):
        return {"accept": value}
    if isinstance(value, int) or (isinstance(value, str) and value in BARE_CHOICES):
        return {"choice": value}
    return value


def _from_text(text: Any) -> Any:
    """JSON inside a string, read as strictly as a body is, with or without talk around it; a bare choice; or None."""
    if not isinstance(text, str):
        return None
    if text in BARE_CHOICES:
        return text
    begin, end = text.find("{"), text.rfind("}") + 1
    for part in (text, text[begin:end]):
        with suppress(NotJson):
            return rpc.loads(part.encode())
    return None


def accepted(message: Mapping[str, Any]) -> bool | None:
    """Whether a GAME_JOIN_ACK accepts (ruling, section 4): True, False, or None when it does not say."""
    for name in ACCEPT_FIELDS:
        if isinstance(message.get(name), bool):
            return bool(message[name])
    for name in ("status", *ACCEPT_FIELDS, "response"):
        word = message.get(name)
        if isinstance(word, str) and word.upper() in YES_WORDS | NO_WORDS:
            return word.upper() in YES_WORDS
    return None


def choice(message: Mapping[str, Any], field: str) -> Any:
    """The move in a response, or None when there is none (ruling, sections 4 and 7).

    Args:
        message: the unwrapped answer.
        field: the game's own name for it, such as ``parity_choice``.
    """
    for holder in (message, message.get("move_data"), message.get("move")):
        if isinstance(holder, Mapping):
            for name in (field, *CHOICE_FIELDS):
                value = holder.get(name)
                # {"move": {"choice": …}} is looked into, not taken for a move.
                if value is not None and not (name == "move" and isinstance(value, Mapping)):
                    return value
    return None


def holds_answer(message: Mapping[str, Any], message_type: str, field: str) -> bool:
    """Whether an answer holds what a message asks for; what asks for nothing is answered by anything."""
    if message_type == MessageType.GAME_INVITATION:
        return accepted(message) is not None
    if message_type in _MOVE_CALLS:
        return choice(message, field) is not None
    return True


def understanding(answer: Answer, *, status: int, readable: bool, message_type: str, field: str = "") -> Understanding:
    """Judge a reply: does it answer, acknowledge, say nothing, or say that it was not understood?

    Args:
        answer: what was read.
        status: the HTTP status.
        readable: whether the body was JSON.
        message_type: of what was sent.
        field: the game's name for a choice.
    """
    message = answer.message
    asks = message_type in (MessageType.GAME_INVITATION, *_MOVE_CALLS)
    if asks and message and holds_answer(message, message_type, field):
        # "Rejected: unknown method" is no refusal of the match.
        refusal = message_type == MessageType.GAME_INVITATION and accepted(message) is False
        if not (refusal and _says_error(message)):
            return Understanding.ANSWERED
    if answer.refused is not None or status >= 400 or 300 <= status < 400 or _says_error(message):
        return Understanding.NOT_UNDERSTOOD
    if not asks:
        return Understanding.ANSWERED
    if not readable:
        return Understanding.NOT_UNDERSTOOD
    if status in (202, 204):
        return Understanding.RECEIPT
    status_word = message.get("status")
    if isinstance(status_word, str) and status_word.upper() in RECEIPT_WORDS:
        return Understanding.RECEIPT
    return Understanding.VAGUE


def _says_error(message: Mapping[str, Any]) -> bool:
    """A success that means an error: ``{"error": …}``, ``{"success": false}``, ``{"status": "unknown…"}``."""
    if message.get("error") or message.get("success") is False or message.get("isError") is True:
        return True
    if message.get("message_type") in (MessageType.GAME_ERROR, MessageType.LEAGUE_ERROR):
        return True
    word = message.get("status")
    return isinstance(word, str) and any(part in word.lower() for part in _UNKNOWN_WORDS)


def oddities(message: Mapping[str, Any], *, match_id: str, player_id: str, expected_type: str = "") -> list[Note]:
    """What an answer got wrong without harm, for the student to mend.

    Args:
        message: the unwrapped answer.
        match_id, player_id: whom and what was asked.
        expected_type: the message type that was due, when one was.
    """
    notes: list[Note] = []
    for field, expected in (("match_id", match_id), ("player_id", player_id)):
        seen = message.get(field)
        if seen is not None and seen != expected:
            notes.append(note(Code.DIFFERS, field=field, seen=f"{seen!r:.40}", expected=expected))
    sender = message.get("sender")
    if isinstance(sender, str) and sender != f"player:{player_id}":
        notes.append(note(Code.DIFFERS, field="sender", seen=f"{sender!r:.40}", expected=f"player:{player_id}"))
    if expected_type:
        notes += _not_as_printed(message, expected_type)
    for name in ("timestamp", "arrival_timestamp"):
        if message.get(name):
            try:
                parse_stamp(message[name])
            except InvalidTimestamp:
                notes.append(note(Code.NOT_UTC, field=name))
    return notes


def _not_as_printed(message: Mapping[str, Any], expected_type: str) -> list[Note]:
    """What an answer of a known type lacks, or says in other fields."""
    notes: list[Note] = []
    said = message.get("message_type")
    if said is None:
        notes.append(note(Code.MISSING, field="message_type", expected=expected_type))
    elif said != expected_type:
        notes.append(note(Code.DIFFERS, field="message_type", seen=f"{said!r:.40}", expected=expected_type))
    if expected_type == MessageType.GAME_JOIN_ACK and not isinstance(message.get("accept"), bool):
        notes.append(note(Code.ELSEWHERE, field="accept"))
    if expected_type == MessageType.CHOOSE_PARITY_RESPONSE and "parity_choice" not in message:
        notes.append(note(Code.ELSEWHERE, field="parity_choice"))
    move = choice(message, "choice") if expected_type == MessageType.GAME_MOVE_RESPONSE else None
    if isinstance(move, str) and move.isdecimal():
        notes.append(note(Code.TEXT_FOR_NUMBER))
    named = ("player_id", "auth_token", "timestamp")
    notes += [note(Code.MISSING, field=name) for name in named if not message.get(name)]
    return notes
