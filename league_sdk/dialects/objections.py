"""What an agent objects to in a request whose method it knows: unexpected fields, an id that is a number, no ping yet.
No I/O.

Validators written from the printed tables refuse fields that the tables do not list, although the documents' own
messages have some (004 chapters 4 and 8). Such an agent is asked again with the printed fields only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

from league_sdk.protocol.messages import MessageType

_ENVELOPE = (
    *("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token"),
    *("league_id", "round_id", "match_id", "game_type"),
)
PRINTED: dict[str, tuple[str, ...]] = {
    MessageType.GAME_INVITATION: (*_ENVELOPE, "role_in_match", "opponent_id"),
    MessageType.CHOOSE_PARITY_CALL: (*_ENVELOPE, "player_id", "context", "deadline"),
    MessageType.GAME_MOVE_CALL: (*_ENVELOPE, "player_id", "move_request", "deadline"),
    MessageType.GAME_OVER: (*_ENVELOPE, "game_result"),
}
"""The printed fields: the envelope (004 tables 2 and 4) and the fields of 004 chapters 3.8.2 and 4."""
MAX_FIELDS = 12
_MAX_DEPTH = 4
_EXTRA = re.compile(
    r"extra_forbidden|extra (inputs|fields) (are )?not permitted|unexpected keyword|additional ?propert"
    r"|(unexpected|unrecogni[sz]ed|unknown|unsupported) (field|propert|key|param|attribut|argument)"
)
_QUOTED = re.compile(r"['\"`](\w{1,40})['\"`]", re.ASCII)
_TEXT_WANTED = re.compile(r"string_type|valid string|must be an? str|str type expected|expected an? str")
_PING_WANTED = re.compile(
    r"\b(send|needs?|requires?|await\w*|waiting)\b.{0,20}\bping\b|\bping\b.{0,20}\b(first|before|required|needed|missing)\b"
)
_LISTS = re.compile(r"\b(methods?|fields?|params?|parameters?|arguments?|one of|known|supported|available)\b")


def _sentences(body: Any, depth: int = 0) -> list[tuple[str, str]]:
    """The sentences of an error, each with the field that it is about, or an empty text."""
    if isinstance(body, str):
        return [(body[:500], "")]
    if depth > _MAX_DEPTH or not isinstance(body, (Mapping, list)):
        return []
    if isinstance(body, list):
        return [sentence for item in body[:MAX_FIELDS] for sentence in _sentences(item, depth + 1)]
    where = body.get("loc") or body.get("path")
    if isinstance(where, list) and where:
        return [(f"{body.get('type')} {body.get('msg', body.get('message'))}"[:500], str(where[-1]))]
    inner = [body[name] for name in ("error", "detail", "message", "data", "errors", "result") if name in body]
    return [sentence for item in inner for sentence in _sentences(item, depth + 1)]


def unwanted(body: Any) -> frozenset[str] | None:
    """The fields that a refusal (decoded JSON) rejects; empty if it names none, None if it is about something else."""
    objections = [(sentence, field) for sentence, field in _sentences(body) if _EXTRA.search(sentence.lower())]
    if not objections:
        return None
    fields = [[field] if field else _QUOTED.findall(sentence)[:MAX_FIELDS] for sentence, field in objections]
    return frozenset(chain(*fields))


def wants_text_id(body: Any) -> bool:
    """Whether a refusal (decoded JSON) says that the JSON-RPC id must be a string."""
    return any(field == "id" and _TEXT_WANTED.search(sentence.lower()) for sentence, field in _sentences(body))


def wants_ping(body: Any) -> bool:
    """Whether a refusal (decoded JSON) says that the agent waits for a ping.

    One about a method or a field may name a ping, too: among those that the agent knows.
    """
    sentences = [sentence.lower() for sentence, _field in _sentences(body)]
    return any(_PING_WANTED.search(one) and not _LISTS.search(one) for one in sentences)


def without(message: Mapping[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """A canonical message without these fields, and with printed ones only if its type is in :data:`PRINTED`; its type
    and match always stay."""
    printed = PRINTED.get(str(message["message_type"]), tuple(message))
    rejected = fields - {"message_type", "match_id"}
    return {name: message[name] for name in printed if name in message and name not in rejected}
