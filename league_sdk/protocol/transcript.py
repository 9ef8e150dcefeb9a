"""Entries of a match's transcript: every message in both directions, without secrets (004 9.4.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import SECRET_FIELDS
from league_sdk.protocol.limits import MAX_TRANSCRIPT_BODY_BYTES, MAX_TRANSCRIPT_DEPTH
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.own_words import clean_words
from league_sdk.protocol.tokens import REDACTED, redact

_PLAIN = json.JSONEncoder(ensure_ascii=False)
# Finds a token, a secret field that is not blanked, a NUL character or a lone surrogate, in the form in which _PLAIN
# writes it.
_SECRET = f'"(?:{"|".join(sorted(SECRET_FIELDS))})": '
_UNCLEAN = re.compile(rf'tok_[0-9a-f]{{16}}|{_SECRET}(?!"{REDACTED}"[,}}])|\\u0000|[\ud800-\udfff]')
_SECRET_VALUE = re.compile(rf'({_SECRET})("(?:[^"\\]|\\.)*"?|[^",][^,}}]*)')
MAX_WIRE_TEXT_CHARS = 500
"""The longest quotation of an answer that could not be read."""
MAX_ENTRY_CHARS = 2 * MAX_TRANSCRIPT_BODY_BYTES
"""A longer entry is stored without its requests and with few of its notes."""
MAX_NOTES_OF_A_LONG_ENTRY, MAX_SHORT_NOTE_CHARS = 8, 40
MAX_NOTE_CHARS = 200
"""The longest argument of a note."""


class Wire(TypedDict):
    """One HTTP request of a try, and the form of its answer.

    ``path`` is the URL without its host; ``shape`` and ``method`` are the dialect; ``id`` is the JSON-RPC id;
    ``session`` says whether headers of an MCP session were sent; ``status`` and ``content_type`` are the answer's
    (None and empty without one). ``way`` is a :class:`league_sdk.protocol.inbox.Way`, if the request did not go to the
    agent's address; in its inbox it had an id of its own. Only the last request of a try has ``text``, the beginning of
    an answer that was not JSON, and ``request``, the body if it was anything else than the message under ``method``.
    """

    path: str
    shape: str
    method: str
    id: int | str
    session: bool
    status: int | None
    content_type: str
    way: NotRequired[str]
    text: NotRequired[str]
    request: NotRequired[Any]


class Entry(TypedDict):
    """One message in the transcript.

    ``n`` counts from 0 within an attempt; ``at`` is ISO 8601; ``sender`` and
    ``recipient`` are ids. For an answer ``elapsed_ms`` is the time since its request was sent and
    ``limit_ms`` its timeout. ``problem`` says what was wrong and ``notes`` what was unusual, both as
    :func:`league_sdk.protocol.notes.read` reads them. ``wire`` has the requests that led to the answer, if known.
    ``said`` are the agent's own words in place of an answer, for its owner and the staff only.
    """

    n: int
    at: str
    sender: str
    recipient: str
    message_type: str
    method: str
    elapsed_ms: int | None
    limit_ms: int | None
    http_status: int | None
    problem: str | dict[str, Any]
    notes: list[dict[str, Any]]
    body: Any
    wire: NotRequired[list[Wire]]
    said: NotRequired[str]


def is_storable(text: str) -> bool:
    """Whether every database and JSON reader accepts a text, because it has no NUL character and no lone surrogate."""
    return "\x00" not in text and (text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text))


def storable(text: str) -> str:
    """Remove tokens from a text, and everything that a database or JSON reader may refuse (ruling, section 12).

    The answer of an agent may have NUL characters, which become U+FFFD, and lone surrogates, which become "?".
    """
    text = redact(text)
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if not text.isascii():
        # A header byte that is not UTF-8 was decoded to a lone surrogate.
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


def clean(value: Any) -> Any:
    """Make a body that can be stored: secret fields and tokens are blanked, texts are made :func:`storable`."""
    # Text comes first: most values are text, and the check for Mapping is slow.
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (dict, Mapping)):
        return {
            storable(str(key)): REDACTED if key in SECRET_FIELDS and item else clean(item)
            for key, item in value.items()
        }
    return [clean(item) for item in value] if isinstance(value, (list, tuple)) else value


def clean_json(value: Any) -> str:
    """The JSON of :func:`clean`; faster, because a value that is already clean, as nearly all are, is only searched.

    Args:
        value: decoded JSON.
    """
    text = _PLAIN.encode(value)
    return _PLAIN.encode(clean(value)) if _UNCLEAN.search(text) else text


def body_for_transcript(value: Any) -> Any:
    """Clean a body for the transcript; one of more than 4 KiB or 16 levels is cut, with a mark."""
    text = _PLAIN.encode(value)
    # Nothing walks through a large body, which an agent could send again and again.
    if len(text) <= MAX_TRANSCRIPT_BODY_BYTES:
        cleaned = clean(value)
        text = _PLAIN.encode(cleaned)
        small = len(text.encode("utf-8", "replace")) <= MAX_TRANSCRIPT_BODY_BYTES
        # With so few brackets it cannot be nested too deeply, which saves the slower check.
        shallow = text.count("{") + text.count("[") <= MAX_TRANSCRIPT_DEPTH
        if small and (shallow or rpc.depth_ok(cleaned, MAX_TRANSCRIPT_DEPTH)):
            return cleaned
    # Tokens are removed before cutting: a part of one would not be recognised.
    beginning = _SECRET_VALUE.sub(rf'\1"{REDACTED}"', storable(text)[:MAX_TRANSCRIPT_BODY_BYTES])
    return {"cut": True, "beginning": beginning[: MAX_TRANSCRIPT_BODY_BYTES // 4]}


def entry(  # noqa: PLR0913 - the fields of an entry
    *,
    n: int,
    at: datetime,
    sender: str,
    recipient: str,
    message_type: str,
    method: str = "",
    elapsed_ms: int | None = None,
    limit_ms: int | None = None,
    http_status: int | None = None,
    problem: Note | str = "",
    notes: Sequence[Note] = (),
    body: Any = None,
    wire: Sequence[Wire] = (),
    said: str = "",
) -> Entry:
    """Build an entry; the body is cleaned here, so that no caller can forget it.

    The arguments are the fields of :class:`Entry`.
    """
    built = Entry(
        n=n,
        at=at.isoformat(),
        sender=sender,
        recipient=recipient,
        message_type=storable(message_type),
        method=method,
        elapsed_ms=elapsed_ms,
        limit_ms=limit_ms,
        http_status=http_status,
        problem=storable(problem)[:500] if isinstance(problem, str) else storable_note(problem.to_json()),
        notes=[storable_note(item.to_json()) for item in notes],
        body=body_for_transcript(body),
    )
    if said:
        built["said"] = clean_words(said)
    if wire:
        built["wire"] = [_clean_wire(item, last=item is wire[-1]) for item in wire]
    return built


def shorten_entry(long_entry: Entry) -> Entry:
    """Shorten an entry that is too long for a report: its requests and most of its notes are left out.

    This happens when many dialects are tried and an agent gives a long answer to each.
    """
    if len(_PLAIN.encode(long_entry)) < MAX_ENTRY_CHARS:
        return long_entry
    notes = [storable_note(item, MAX_SHORT_NOTE_CHARS) for item in long_entry["notes"][:MAX_NOTES_OF_A_LONG_ENTRY]]
    shorter = Entry(**{**long_entry, "notes": [*notes, note(Code.WIRE_LEFT_OUT).to_json()]})
    shorter.pop("wire", None)
    return shorter


def storable_note(note_json: dict[str, Any], max_chars: int = MAX_NOTE_CHARS) -> dict[str, Any]:
    """Clean the texts in the JSON of a note, and cut each to ``max_chars`` characters."""
    args = {
        name: storable(value)[:max_chars] if isinstance(value, str) else value
        for name, value in note_json["args"].items()
    }
    return note_json | {"args": args}


def _clean_wire(wire: Wire, *, last: bool) -> Wire:
    cleaned = Wire(
        path=storable(wire["path"])[:100],
        shape=wire["shape"],
        method=storable(wire["method"])[:100],
        id=storable(wire["id"]) if isinstance(wire["id"], str) else wire["id"],
        session=wire["session"],
        status=wire["status"],
        content_type=storable(wire["content_type"])[:80],
    )
    if wire.get("way"):
        cleaned["way"] = wire["way"]
    if last and wire.get("text"):
        cleaned["text"] = storable(wire["text"])[:MAX_WIRE_TEXT_CHARS]
    if last and "request" in wire:
        cleaned["request"] = body_for_transcript(wire["request"])
    return cleaned
