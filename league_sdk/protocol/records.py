"""Format log records: as one JSON object per line with the fields of 004 5.10 and 10.6, or as lines for people.

The standard library's ``logging`` writes them. The context of a record (league, match, conversation) is bound once when
a piece of work begins (:func:`work`) and is added to every record until it ends, also in tasks that the work starts.
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

from league_sdk.protocol.redaction import hidden, redact, redact_text

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
"""The optional fields of a record, beside the six that every record has; ``peer`` is the other side: ``player:P01``."""
NOTE = "NOTE"
"""The event type of a record that names none: its message is a sentence for people."""
MAX_VALUE_CHARS, MAX_MESSAGE_CHARS, MAX_TRACE_CHARS = 200, 2000, 8000
_EMAIL = re.compile(r"[^\s\"'<>@:/\\]{1,64}@[^\s\"'<>@/\\]{1,255}")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters, characters that change the direction of text, and invisible characters."""
_PLAIN_ID = re.compile(r"[A-Za-z0-9_:.-]{1,40}")
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode

Tracer = Callable[[str, Mapping[str, Any]], AbstractContextManager[None]]

_about: ContextVar[dict[str, Any]] = ContextVar("fields of the current work")
_tracers: list[Tracer] = []
_process = {"component": "league", "agent_id": "league_manager"}


def identify(*, component: str, agent_id: str) -> None:
    """Set the component and the agent of all records of this process.

    Args:
        component: ``web``, ``conductor``, ``referee:REF01`` (004 10.6).
        agent_id: the agent that the process runs: ``league_manager``, ``referee:REF01`` (004 5.10).
    """
    _process.update(component=component, agent_id=agent_id)


def add_tracer(tracer: Tracer) -> Callable[[], None]:
    """Add a tracer, which measures every piece of work.

    Args:
        tracer: called with the name of the work and its fields, to which more may be added; returns a context manager.

    Returns a function that removes the tracer.
    """
    _tracers.append(tracer)
    return lambda: _tracers.remove(tracer)


def bind(**fields: Any) -> None:
    """Bind fields for the rest of this task and the tasks that it starts, for example ``component``."""
    _about.set(_about.get({}) | fields)


@contextmanager
def work(name: str, /, **fields: Any) -> Iterator[dict[str, Any]]:
    """Bind fields to all records of a block, also in tasks that it starts.

    Args:
        name: the kind of work, for tracers: ``agent call``, ``delivery``, ``match``.
        fields: some of :data:`FIELDS`, or ``component``.

    Yields the fields; fields added to them appear in the records from then on.
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
    """Replace line breaks, control, direction and invisible characters in a text by escapes."""
    return _UNSEEN.sub(_escaped, text)


def without_secrets(text: str) -> str:
    """Remove credentials (:func:`redact_text`) and e-mail addresses from a text."""
    text = redact_text(text)
    return _EMAIL.sub("…@…", text) if "@" in text else text


def _id(text: str) -> str:
    """An id without secrets: a sender may have written any text, such as a token, where an id belongs."""
    # The search for secrets takes longer than everything else for a record, and nearly every id is plain.
    plain = _PLAIN_ID.fullmatch(text) is not None and "tok_" not in text
    return text if plain else without_secrets(text[:MAX_VALUE_CHARS])


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1]


def _about_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record without secrets: its own, and those bound by :func:`work`."""
    own = vars(record)
    about = _about.get({})
    fields: dict[str, Any] = {"component": about.get("component", _process["component"])}
    for name in FIELDS:
        value = own.get(name)
        if value is None:
            value = about.get(name)
        if isinstance(value, str):
            fields[name] = _id(value)
        elif value is not None:
            fields[name] = value if isinstance(value, (int, float)) else redact(value)
    return fields


# Most records have one of a few messages: each is cleaned once, and again when more secrets are registered.
@lru_cache(maxsize=512)
def _clean_message(text: str, _hidden: tuple[str, ...]) -> str:
    return without_secrets(text)


class _Formatter(logging.Formatter):
    def _message(self, record: logging.LogRecord) -> str:
        return _clean_message(record.getMessage()[:MAX_MESSAGE_CHARS], hidden())

    def _trace(self, record: logging.LogRecord) -> str:
        """The exception of a record as text without secrets; empty without one."""
        return without_secrets(self.formatException(record.exc_info)[-MAX_TRACE_CHARS:]) if record.exc_info else ""


class JsonLines(_Formatter):
    """One JSON object a line (004 10.6.1)."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as JSON; ``timestamp`` is in UTC with milliseconds."""
        about = _about_of(record)
        event_type = getattr(record, "event_type", NOTE)
        entry: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "level": record.levelname,
            "component": about.pop("component"),
            "agent_id": _process["agent_id"],
            "event_type": event_type,
            "message": self._message(record),
            **about,
        }
        if event_type == NOTE or record.exc_info:
            entry["logger"] = record.name
        if record.exc_info:
            entry["exception"] = self._trace(record)
        line = _encode(entry)
        # JSON escapes ASCII control characters except DEL, so most lines need no further search.
        return line if line.isascii() and "\x7f" not in line else one_line(line)


class PlainLine(_Formatter):
    """A line for people: time, level, component, logger, message and fields; below it a marked traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as text; text from agents cannot begin a new line."""
        about = _about_of(record)
        where = about.pop("component")
        more = ", ".join(f"{name} {value}" for name, value in about.items())
        line = f"{self.formatTime(record)} {record.levelname} {where} {record.name}: {self._message(record)}"
        lines = [f"{line} ({more})" if more else line]
        if record.exc_info:
            lines += [f"  | {part}" for part in self._trace(record).split("\n")]
        return "\n".join(one_line(one) for one in lines)
