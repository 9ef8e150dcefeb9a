"""Read what an agent answered, wherever in its reply the message is (ruling, sections 3 and 9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from league_sdk.dialects import meaning
from league_sdk.dialects.words import message_type_of, unwrap
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import parse_stamp
from league_sdk.protocol.errors import InvalidTimestamp, NotJson
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, Note, note

ACCEPT_FIELDS = ("accept", "accepted", "join", "joined")
CHOICE_FIELDS = ("choice", "move", "parity", "selection", "decision", "answer")
"""Names of the move, beside the game's own name for it; at the top of the message, in ``move_data`` or ``move``."""
YES_WORDS = frozenset({"ACCEPTED", "ACCEPT", "RECEIVED", "ACK", "ACKNOWLEDGED", "JOINED", "READY", "TRUE", "YES"})
NO_WORDS = frozenset({"REJECTED", "REJECT", "REFUSED", "DECLINED", "FALSE", "NO"})
PARITY_FIELD = "parity_choice"
"""The name of a move that is ``even`` or ``odd``."""
RECEIPT_WORDS = frozenset({"RECEIVED", "ACK", "ACKNOWLEDGED", "ACCEPTED", "PENDING", "PROCESSING", "QUEUED"})
"""A status without a move that means: received, the answer may follow by a POST."""
_ERROR_STATUS = re.compile(
    r"unknown|not[_ -]?found|unsupported|unhandled|error|invalid|not[_ ]implemented|fail|ignored"
)
_ERROR_TEXT = re.compile(
    r"(unknown|unsupported|unrecogni[sz]ed|unhandled|invalid|no such) (\w+ )?"
    r"(method|message|type|tool|action|command|request)"
    r"|not (found|supported|implemented|recogni[sz]ed|understood)|no handler"
)
"""Found in the text of an answer that says success but reports a failure."""
_REASONS = ("reason", "rejection_reason", "refusal", "why")
_PLAIN_STATUS = frozenset({"OK", "SUCCESS", "DONE", "COMPLETED"})
_NESTED = ("result", "response")
_OWN_OBJECTS = frozenset({"move_data", "move", "context", "_meta"})
"""Objects that are part of an answer, or that MCP allows beside one."""
MAX_WRAPPERS = 3
"""How often an answer may be wrapped under names that are not known."""
_RPC_FIELDS = ("jsonrpc", "id", "method", "params", "result", "error")
MOVE_CALLS = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
MAX_OTHER_MOVE = 100
"""No game has a move that is a larger number: such an answer is an illegal choice, not the move of another game."""


class Understanding(Enum):
    """What a reply says about whether the request was understood.

    Attributes:
        ANSWERED: the reply holds what was asked for, or does not refuse a message that asks for nothing.
        RECEIPT: understood; the answer may come by a POST.
        VAGUE: a success that says nothing.
        NOT_UNDERSTOOD: any other refusal or failure, such as one of the many spellings of "method not found".
    """

    ANSWERED = "answered"
    RECEIPT = "receipt"
    VAGUE = "vague"
    NOT_UNDERSTOOD = "not understood"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent answered.

    Attributes:
        message: the fields of the message, unwrapped; empty when there were none.
        refused: the JSON-RPC error, None when there was none.
        notes: what was wrong with the reply and tolerated, for the transcript.
    """

    message: dict[str, Any]
    refused: Any
    notes: tuple[Note, ...]


def read_answer(body: Any, *, rpc_id: int | str) -> Answer:
    """Find the message in a decoded reply: in ``result``, then ``params``, then the body itself.

    Args:
        body: the decoded JSON; None when there was none.
        rpc_id: the id of our request.
    """
    notes: list[Note] = []
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
        notes.append(note(Code.LIST))
    if not isinstance(body, Mapping):
        return Answer({}, None, () if body is None else (note(Code.NO_OBJECT),))
    refused = body.get("error") or None
    content = _result(body.get("result"), notes)
    if isinstance(content, Mapping):
        if body.get("id") != rpc_id:
            notes.append(note(Code.ID, seen=f"{body.get('id')!r:.40}", expected=rpc_id))
        if "error" in body:
            notes.append(note(Code.ERROR_BESIDE_RESULT))
    elif isinstance(body.get("params"), Mapping):
        content = body["params"]
        notes.append(note(Code.REQUEST_FOR_REPLY))
    elif "jsonrpc" not in body and "result" not in body:
        content = body
        notes.append(note(Code.NO_RPC))
    elif other_fields := {name: value for name, value in body.items() if name not in _RPC_FIELDS}:
        content = other_fields
        notes.append(note(Code.BESIDE_RESULT))
    if not isinstance(content, Mapping):
        return Answer({}, refused, tuple(notes))
    message = _message(content, notes)
    return Answer(message, refused, tuple(notes))


def _result(result: Any, notes: list[Note]) -> Any:
    """The fields in ``result``, which may be a text, a bare value or a list around one of them."""
    if isinstance(result, str):
        result = meaning.parity(result) or _from_text(result)
    if isinstance(result, list) and len(result) == 1:
        result = result[0]
        notes.append(note(Code.LIST))
    if isinstance(result, (bool, int, str)):
        notes.append(note(Code.BARE_VALUE))
        return {"accept": result} if isinstance(result, bool) else {"choice": result}
    return result


def _message(fields: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
    """Take the message out of ``content[0].text``, ``structuredContent``, ``{envelope, payload}`` and the like."""
    for _ in range(3):
        content, structured = fields.get("content"), fields.get("structuredContent")
        nested = next((fields[name] for name in _NESTED if isinstance(fields.get(name), Mapping)), None)
        inner: Any = nested
        if isinstance(structured, Mapping):
            inner = _bare(structured)
        elif isinstance(content, list) and content and isinstance(content[0], Mapping):
            inner = _bare(_from_text(content[0].get("text")))
        if not isinstance(inner, Mapping):
            break
        notes.append(note(Code.IN_TOOL_RESULT if nested is None else Code.NESTED))
        rest = {key: value for key, value in fields.items() if key not in ("content", "structuredContent", *_NESTED)}
        fields = {**rest, **inner}
    if any(isinstance(fields.get(name), Mapping) for name in ("payload", "data", "message", "envelope")):
        notes.append(note(Code.NESTED))
    message = unwrap(fields)
    for _ in range(MAX_WRAPPERS):
        inner = _only_object(message)
        if inner is None:
            break
        notes.append(note(Code.NESTED))
        message = {name: value for name, value in message.items() if value is not inner} | unwrap(inner)
    return message


def _only_object(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The one object in an answer that says nothing else: the answer, wrapped once more under whatever name."""
    if "message_type" in message or message.get("error"):
        return None
    objects = [value for name, value in message.items() if isinstance(value, Mapping) and name not in _OWN_OBJECTS]
    if objects:
        return objects[0] if len(objects) == 1 else None
    texts = [read for value in message.values() if isinstance(read := meaning.json_in(value), Mapping)]
    return texts[0] if len(texts) == 1 and len(message) == 1 else None


def _bare(value: Any) -> Any:
    """Turn a tool's bare value into fields; MCP libraries send ``true`` as it is or as ``{"result": true}``."""
    if isinstance(value, Mapping) and set(value) == {"result"}:
        value = value["result"] if not isinstance(value["result"], str) else _from_text(value["result"])
    if isinstance(value, bool):
        return {"accept": value}
    if isinstance(value, int) or meaning.parity(value):
        return {"choice": value}
    return value


def _from_text(text: Any) -> Any:
    """Read JSON in a string (as strictly as a body, prose around it is allowed) or a bare choice; None if neither."""
    if not isinstance(text, str):
        return None
    if word := meaning.parity(text):
        return word
    for part in (text, text[text.find("{") : text.rfind("}") + 1]):
        with suppress(NotJson):
            return rpc.loads(part.encode())
    return None


def accepted(message: Mapping[str, Any]) -> bool | None:
    """Whether a GAME_JOIN_ACK accepts (ruling, section 4): True, False, or None when it does not say.

    A GAME_JOIN_ACK that says neither yes nor no, and gives no reason, is a yes.
    """
    for name in ACCEPT_FIELDS:
        if isinstance(message.get(name), bool):
            return bool(message[name])
    for name in ("status", *ACCEPT_FIELDS, "response"):
        word = message.get(name)
        if isinstance(word, str) and word.upper() in YES_WORDS | NO_WORDS:
            return word.upper() in YES_WORDS
    if says_error(message):
        return None
    acceptance = meaning.find_acceptance(message)
    return acceptance if acceptance is not None else True if _is_bare_join(message) else None


def _is_bare_join(message: Mapping[str, Any]) -> bool:
    status = message.get("status")
    says_more = any(message.get(name) not in (None, "") for name in (*ACCEPT_FIELDS, "response", *_REASONS))
    plain = status is None or (isinstance(status, str) and status.upper() in _PLAIN_STATUS)
    return plain and not says_more and message_type_of(message.get("message_type")) == MessageType.GAME_JOIN_ACK


def choice(message: Mapping[str, Any], field: str) -> Any:
    """The move in an unwrapped answer, or None when there is none (ruling, sections 4 and 7).

    A parity may be in capitals. A value under no known name is read by its meaning, if only one value can be the move.

    Args:
        field: the game's own name for it, such as ``parity_choice``.
    """
    of_parity = field == PARITY_FIELD
    named: list[Any] = []
    for holder in (message, message.get("move_data"), message.get("move")):
        if isinstance(holder, Mapping):
            # {"move": {"choice": …}} holds the move, it is not the move.
            values = ((name, holder.get(name)) for name in (field, *CHOICE_FIELDS))
            named += [v for name, v in values if v is not None and not (name == "move" and isinstance(v, Mapping))]
    if of_parity:
        # A number beside a parity is the move of another game.
        named.sort(key=lambda value: not isinstance(value, str))
    if named and not (isinstance(named[0], (Mapping, list)) or (of_parity and not isinstance(named[0], str))):
        return (meaning.parity(named[0]) if of_parity else None) or named[0]
    clear_choice = None if says_error(message) else meaning.find_choice(message, of_parity=of_parity)
    return clear_choice if clear_choice is not None else next(iter(named), None)


def holds_answer(message: Mapping[str, Any], message_type: str, field: str) -> bool:
    """Whether an answer holds what a message asks for; a message that asks for nothing is answered by anything.

    A number is no answer to CHOOSE_PARITY_CALL: the agent took it for the move request of another game.
    """
    if message_type == MessageType.GAME_INVITATION:
        return accepted(message) is not None
    if message_type in MOVE_CALLS:
        move = choice(message, field)
        return move is not None and not (field == PARITY_FIELD and _is_number(move))
    return True


def is_of_another_kind(message: Mapping[str, Any], message_type: str, field: str) -> bool:
    """Whether an answer holds a move, but not one of the kind that was asked for."""
    return message_type in MOVE_CALLS and field == PARITY_FIELD and _is_number(choice(message, field))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_OTHER_MOVE


def understanding(answer: Answer, *, status: int, readable: bool, message_type: str, field: str = "") -> Understanding:
    """Judge whether a reply answers, acknowledges, says nothing, or says that the request was not understood.

    Args:
        status: the HTTP status.
        readable: whether the body was JSON.
        message_type: of what was sent.
        field: the game's name for a move.
    """
    message = answer.message
    asks = message_type in (MessageType.GAME_INVITATION, *MOVE_CALLS)
    if asks and message and holds_answer(message, message_type, field):
        # "Rejected: unknown method" does not decline the match.
        declines = message_type == MessageType.GAME_INVITATION and accepted(message) is False
        if not (declines and says_error(message)):
            return Understanding.ANSWERED
    if answer.refused is not None or status >= 400 or 300 <= status < 400 or says_error(message):
        return Understanding.NOT_UNDERSTOOD
    if not asks:
        return Understanding.ANSWERED
    if not readable:
        return Understanding.NOT_UNDERSTOOD
    status_word = message.get("status")
    received = isinstance(status_word, str) and status_word.upper() in RECEIPT_WORDS
    return Understanding.RECEIPT if received or status in (202, 204) else Understanding.VAGUE


def says_error(message: Mapping[str, Any]) -> bool:
    """A success that means an error: ``{"error": …}``, ``{"success": false}``, ``{"status": "unknown…"}``."""
    if message.get("error") or message.get("errors") or message.get("isError") is True:
        return True
    if message.get("success") is False or message.get("ok") is False:
        return True
    if message.get("message_type") in (MessageType.GAME_ERROR, MessageType.LEAGUE_ERROR):
        return True
    words = (message.get(name) for name in ("status", "code", "state"))
    if any(isinstance(word, str) and _ERROR_STATUS.search(word[:100].lower()) for word in words):
        return True
    texts = (message.get(name) for name in ("message", "msg", "detail", "description", "text", "info", "reply"))
    return any(isinstance(text, str) and _ERROR_TEXT.search(text[:300].lower()) for text in texts)


def oddities(message: Mapping[str, Any], *, match_id: str, player_id: str, expected_type: str = "") -> list[Note]:
    """What an unwrapped answer got wrong without harm, for its author to correct.

    Args:
        match_id, player_id: which player was asked in which match.
        expected_type: the message type of a correct answer; empty when none is expected.
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
    """What an answer lacks of the fields of its type, or has under other names."""
    notes: list[Note] = []
    message_type = message.get("message_type")
    if message_type is None:
        notes.append(note(Code.MISSING, field="message_type", expected=expected_type))
    elif message_type != expected_type:
        notes.append(note(Code.DIFFERS, field="message_type", seen=f"{message_type!r:.40}", expected=expected_type))
    if expected_type == MessageType.GAME_JOIN_ACK and not isinstance(message.get("accept"), bool):
        notes.append(note(Code.ELSEWHERE, field="accept"))
    if expected_type == MessageType.CHOOSE_PARITY_RESPONSE:
        written = message.get(PARITY_FIELD)
        read = meaning.parity(written)
        if written is None:
            notes.append(note(Code.ELSEWHERE, field=PARITY_FIELD))
        elif read is not None and read != written:
            notes.append(note(Code.DIFFERS, field=PARITY_FIELD, seen=f"{written!r:.40}", expected=read))
    move = choice(message, "choice") if expected_type == MessageType.GAME_MOVE_RESPONSE else None
    if isinstance(move, str) and move.isdecimal():
        notes.append(note(Code.TEXT_FOR_NUMBER))
    required = ("player_id", "auth_token", "timestamp")
    return notes + [note(Code.MISSING, field=name) for name in required if not message.get(name)]
