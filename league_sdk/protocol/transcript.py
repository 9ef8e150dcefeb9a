"""Entries of a match's transcript: every message, both directions, without secrets (004 9.4.3)."""

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
from league_sdk.protocol.tokens import REDACTED, redact

_PLAIN = json.JSONEncoder(ensure_ascii=False)
# A token, a secret field with anything in it but the mark, a NUL or a lone surrogate: as _PLAIN writes them, and no
# escape can hide them there.
_UNCLEAN = re.compile(
    rf'tok_[0-9a-f]{{16}}|"(?:{"|".join(sorted(SECRET_FIELDS))})": (?!"{REDACTED}"[,}}])|\\u0000|[\ud800-\udfff]'
)
MAX_WIRE_TEXT_CHARS = 500
"""Of an answer that could not be read."""
MAX_ENTRY_CHARS = 2 * MAX_TRANSCRIPT_BODY_BYTES
"""A longer entry is kept without its requests, and with few of its notes."""
MOST_NOTES_OF_A_LONG_ENTRY, NOTE_CHARS = 8, 40
MAX_NOTE_CHARS = 200
"""Of each argument of a note."""


class Wire(TypedDict):
    """One HTTP request of a try, as it went out: where to, in which clothes, and how its answer came.

    ``path`` is the address without its host; ``shape`` and ``method`` the way of speaking; ``id`` the JSON-RPC id;
    ``session`` whether the headers of an MCP session went with it; ``status`` and ``content_type`` are the answer's
    (None and empty when none came). Only the last one of a try has ``text``, the beginning of an answer that was
    not JSON, and ``request``, the body when it was not the message as it is under ``method``.
    """

    path: str
    shape: str
    method: str
    id: int | str
    session: bool
    status: int | None
    content_type: str
    text: NotRequired[str]
    request: NotRequired[Any]


class Entry(TypedDict):
    """One message as the transcript keeps it.

    ``n`` counts from 0 within an attempt; ``at`` is ISO 8601 with microseconds; ``sender`` and
    ``recipient`` are ids. For an answer ``elapsed_ms`` is the time since its request was sent and
    ``limit_ms`` the time it was given. ``problem`` says what was wrong, ``notes`` what was odd, as
    :func:`league_sdk.protocol.notes.read` takes it.
    ``wire`` has the requests that brought the answer, where that is known.
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


def storable(text: str) -> str:
    """A text without tokens of ours that every database and every JSON reader takes (ruling, section 12).

    NUL characters and lone surrogates, which an agent may answer with, become replacement characters.
    """
    text = redact(text)
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if not text.isascii():
        # A byte of a header that is no UTF-8 arrives as a lone surrogate.
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


def clean(value: Any) -> Any:
    """A body that can be stored, without secrets: secret fields and what looks like a token are blanked."""
    # Text first: most values are, and asking whether something is a Mapping is slow.
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
    """The JSON of :func:`clean`, for values that came as JSON: what is clean already, as nearly all is, is only read.

    Args:
        value: decoded JSON.
    """
    text = _PLAIN.encode(value)
    return _PLAIN.encode(clean(value)) if _UNCLEAN.search(text) else text


def body_for_transcript(value: Any) -> Any:
    """A body as the transcript keeps it: cleaned, and cut with a mark beyond 4 KiB or 16 levels."""
    cleaned = clean(value)
    text = _PLAIN.encode(cleaned)
    small = len(text.encode("utf-8", "replace")) <= MAX_TRANSCRIPT_BODY_BYTES
    # With so few brackets it cannot be nested deeper.
    shallow = text.count("{") + text.count("[") <= MAX_TRANSCRIPT_DEPTH
    if small and (shallow or rpc.depth_ok(cleaned, MAX_TRANSCRIPT_DEPTH)):
        return cleaned
    return {"cut": True, "beginning": text[: MAX_TRANSCRIPT_BODY_BYTES // 4]}


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
) -> Entry:
    """Build an entry; the body is cleaned here so that no other place can forget to.

    Thirteen arguments: one for each field.
    """
    made = Entry(
        n=n,
        at=at.isoformat(),
        sender=sender,
        recipient=recipient,
        message_type=storable(message_type),
        method=method,
        elapsed_ms=elapsed_ms,
        limit_ms=limit_ms,
        http_status=http_status,
        problem=storable(problem)[:500] if isinstance(problem, str) else note_for_storing(problem.to_json()),
        notes=[note_for_storing(one.to_json()) for one in notes],
        body=body_for_transcript(body),
    )
    if wire:
        made["wire"] = [_clean_wire(one, last=one is wire[-1]) for one in wire]
    return made


def fitting(made: Entry) -> Entry:
    """An entry that every report has room for: one that is too long loses its requests and most of its notes.

    An agent that is asked in many words may fill its wire with what it answered to each, beyond what a report holds.
    """
    if len(_PLAIN.encode(made)) < MAX_ENTRY_CHARS:
        return made
    notes = [note_for_storing(one, NOTE_CHARS) for one in made["notes"][:MOST_NOTES_OF_A_LONG_ENTRY]]
    shorter = Entry(**{**made, "notes": [*notes, note(Code.WIRE_LEFT_OUT).to_json()]})
    shorter.pop("wire", None)
    return shorter


def note_for_storing(made: dict[str, Any], most: int = MAX_NOTE_CHARS) -> dict[str, Any]:
    """The JSON of a note with clean texts in it, none longer than so many characters."""
    args = {name: storable(one)[:most] if isinstance(one, str) else one for name, one in made["args"].items()}
    return made | {"args": args}


def _clean_wire(one: Wire, *, last: bool) -> Wire:
    cleaned = Wire(
        path=storable(one["path"])[:100],
        shape=one["shape"],
        method=storable(one["method"])[:100],
        id=storable(one["id"]) if isinstance(one["id"], str) else one["id"],
        session=one["session"],
        status=one["status"],
        content_type=storable(one["content_type"])[:80],
    )
    if last and one.get("text"):
        cleaned["text"] = storable(one["text"])[:MAX_WIRE_TEXT_CHARS]
    if last and "request" in one:
        cleaned["request"] = body_for_transcript(one["request"])
    return cleaned
