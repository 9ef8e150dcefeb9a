"""Log records: one JSON object a line with the fields of 004 5.10 and 10.6, or one line for people.

Everything is written by the standard library's ``logging``; what a record is about (league, match, conversation) is
bound once where a piece of work begins (:func:`work`) and stands on every line until it ends, also in its tasks.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from league_sdk.protocol.redaction import redact, redact_text

FIELDS = (
    "league_id",
    "round_id",
    "match_id",
    "attempt",
    "conversation_id",
    "message_type",
    "peer",
    "state",
    "status",
    "duration_ms",
    "error_code",
    "cause",
    "data",
)
"""What a record may have beside the six fields that each has; ``peer`` is the other side, such as ``player:P01``."""
NOTE = "NOTE"
"""The event type of a record that names none: a sentence for people."""
MAX_VALUE_CHARS, MAX_MESSAGE_CHARS, MAX_TRACE_CHARS = 200, 2000, 8000
_MAILBOX = re.compile(r"[^\s\"'<>@:/\\]{1,64}@[^\s\"'<>@/\\]{1,255}")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What moves the cursor, turns the text around, or cannot be seen."""
_PLAIN_ID = re.compile(r"[A-Za-z0-9_:.-]{1,40}")
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode

Tracer = Callable[[str, Mapping[str, Any]], AbstractContextManager[None]]

_about: ContextVar[dict[str, Any]] = ContextVar("what is being worked on")
_tracers: list[Tracer] = []
_process = {"component": "league", "agent_id": "league_manager"}


def identify(*, component: str, agent_id: str) -> None:
    """Say once who writes the records of this process.

    Args:
        component: ``web``, ``conductor``, ``referee:REF01`` (004 10.6).
        agent_id: the agent it speaks for: ``league_manager``, ``referee:REF01`` (004 5.10).
    """
    _process.update(component=component, agent_id=agent_id)


def add_tracer(tracer: Tracer) -> Callable[[], None]:
    """Have something measured around every piece of work.

    Args:
        tracer: called with the name of the work and its fields, which may still grow; gives a context manager.

    Returns a callable that takes it away.
    """
    _tracers.append(tracer)
    return lambda: _tracers.remove(tracer)


def bind(**fields: Any) -> None:
    """Bind fields for the rest of this task, and in those it starts: what a whole process part is, ``component``."""
    _about.set(_about.get({}) | fields)


@contextmanager
def work(name: str, /, **fields: Any) -> Iterator[dict[str, Any]]:
    """Bind fields to everything that is logged within, in tasks started there too.

    Args:
        name: what is being done, for a tracer: ``agent call``, ``delivery``, ``match``.
        fields: names of :data:`FIELDS`, or ``component``.

    Yields the fields; what is put into them later stands on the lines from then on.
    """
    about = _about.get({}) | fields
    token = _about.set(about)
    try:
        if not _tracers:
            yield about
            return
        with ExitStack() as spans:
            for tracer in _tracers:
                spans.enter_context(tracer(name, about))
            yield about
    finally:
        _about.reset(token)


def one_line(text: str) -> str:
    """A text in which nothing moves the cursor, turns the direction or is unseen: such characters become escapes."""
    return _UNSEEN.sub(_escaped, text)


def without_secrets(text: str) -> str:
    """A text without what proves anybody (:func:`redact_text`) and without e-mail addresses."""
    text = redact_text(text)
    return _MAILBOX.sub("…@…", text) if "@" in text else text


def _id(text: str) -> str:
    """An id as a record may hold it: it is the sender's own words until it has been looked up."""
    # Looking for secrets takes longer than all the rest of a line, and nearly every id is plain.
    plain = _PLAIN_ID.fullmatch(text) is not None and "tok_" not in text
    return text if plain else without_secrets(text[:MAX_VALUE_CHARS])


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]


def _about_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record, without secrets: what its work is about, and what it was given itself."""
    own = vars(record)
    about = _about.get({})
    found: dict[str, Any] = {"component": about.get("component", _process["component"])}
    for name in FIELDS:
        value = own.get(name)
        if value is None:
            value = about.get(name)
        if isinstance(value, str):
            found[name] = _id(value)
        elif value is not None:
            found[name] = value if isinstance(value, (int, float)) else redact(value)
    return found


def _message_of(record: logging.LogRecord) -> str:
    return _clean_message(record.getMessage()[:MAX_MESSAGE_CHARS])


# The few sentences of the busiest lines are cleaned once.
_clean_message = lru_cache(maxsize=512)(without_secrets)


class _Formatter(logging.Formatter):
    def _trace(self, record: logging.LogRecord) -> str:
        """The exception of a record as text without secrets; empty without one."""
        return without_secrets(self.formatException(record.exc_info)[-MAX_TRACE_CHARS:]) if record.exc_info else ""


class JsonLines(_Formatter):
    """One JSON object a line (004 10.6.1)."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; ``timestamp`` in UTC with milliseconds."""
        about = _about_of(record)
        event_type = getattr(record, "event_type", NOTE)
        entry: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "level": record.levelname,
            "component": about.pop("component"),
            "agent_id": _process["agent_id"],
            "event_type": event_type,
            "message": _message_of(record),
            **about,
        }
        if event_type == NOTE or record.exc_info:
            entry["logger"] = record.name
        if record.exc_info:
            entry["exception"] = self._trace(record)
        line = _encode(entry)
        # JSON has escaped what moves the cursor; most lines hold nothing else.
        return line if line.isascii() and "\x7f" not in line else one_line(line)


class PlainLine(_Formatter):
    """A line for people: time, level, where, what, and what it is about; below it an exception, marked line by line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; what others wrote cannot begin a line of its own."""
        about = _about_of(record)
        where = about.pop("component")
        more = ", ".join(f"{name} {value}" for name, value in about.items())
        line = f"{self.formatTime(record)} {record.levelname} {where} {record.name}: {_message_of(record)}"
        lines = [f"{line} ({more})" if more else line]
        if record.exc_info:
            lines += [f"  | {part}" for part in self._trace(record).split("\n")]
        return "\n".join(one_line(one) for one in lines)
