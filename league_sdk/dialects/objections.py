"""What an agent objects to in a request whose words it knows: fields it did not expect, an id that is a number. No I/O.

Validators written from the printed tables refuse what the tables do not name, although the documents' own messages
differ from each other (004 chapters 4 and 8). Such an agent is asked again with the printed fields alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
"""The envelope (004 tables 2 and 4) and the fields of 004 chapters 3.8.2 and 4, and no others."""
MOST_FIELDS = 12
_DEEPEST = 4
_EXTRA = re.compile(
    r"extra_forbidden|extra (inputs|fields) (are )?not permitted|unexpected keyword|additional ?propert"
    r"|(unexpected|unrecogni[sz]ed|unknown|unsupported) (field|propert|key|param|attribut|argument)"
)
_NAMED = re.compile(r"['\"`](\w{1,40})['\"`]", re.ASCII)
_TEXT_WANTED = re.compile(r"string_type|valid string|must be an? str|str type expected|expected an? str")


def _told(body: Any, depth: int = 0) -> list[tuple[str, str]]:
    """The sentences of an error, each with the field that it stands for."""
    if isinstance(body, str):
        return [(body[:500], "")]
    if depth > _DEEPEST or not isinstance(body, (Mapping, list)):
        return []
    if isinstance(body, list):
        return [one for item in body[:MOST_FIELDS] for one in _told(item, depth + 1)]
    where = body.get("loc") or body.get("path")
    if isinstance(where, list) and where:
        return [(f"{body.get('type')} {body.get('msg', body.get('message'))}"[:500], str(where[-1]))]
    inner = [body[name] for name in ("error", "detail", "message", "data", "errors", "result") if name in body]
    return [one for item in inner for one in _told(item, depth + 1)]


def unwanted(body: Any) -> frozenset[str] | None:
    """The fields that a refusal calls too many; empty when it names none, None when it is about something else.

    Args:
        body: the decoded JSON of the refusal.
    """
    told = [(sentence, field) for sentence, field in _told(body) if _EXTRA.search(sentence.lower())]
    if not told:
        return None
    named = [[field] if field else _NAMED.findall(sentence) for sentence, field in told]
    return frozenset(name for names in named for name in names[:MOST_FIELDS])


def wants_text_id(body: Any) -> bool:
    """Whether a refusal says that the JSON-RPC id must be a text.

    Args:
        body: the decoded JSON of the refusal.
    """
    return any(field == "id" and _TEXT_WANTED.search(sentence.lower()) for sentence, field in _told(body))


def without(message: Mapping[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """The message with the printed fields alone, and without these; what tells what it is about stays.

    Args:
        message: canonical.
        fields: what the agent named.
    """
    kept = PRINTED.get(str(message["message_type"]), tuple(message))
    left_out = fields - {"message_type", "match_id"}
    return {name: message[name] for name in kept if name in message and name not in left_out}
