"""JsonLogger: writes one JSON object per line, without tokens (004 10.6, 5.10, 9.5)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from league_sdk.log_files import missing_line_break
from league_sdk.protocol.notes import in_words
from league_sdk.protocol.records import one_line
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import clean

LOG_ROOT = Path("logs")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def _now() -> datetime:
    return datetime.now(UTC)


def message_facts(
    message: Mapping[str, Any], *, sender: str, recipient: str, league_id: str, match_id: str, attempt: int
) -> dict[str, Any]:
    """What an agent's log says of a message of a match; the body of the message is in the transcript only.

    Args:
        message: an entry of a transcript (:class:`league_sdk.protocol.transcript.Entry`).
        sender, recipient: ``player:P01``, ``referee:REF01``.
    """
    kind = str(message.get("message_type", ""))
    problem = in_words(message.get("problem"))
    return {
        "message": kind,
        "message_type": kind,
        "sender": sender,
        "recipient": recipient,
        "league_id": league_id,
        "details": {"match_id": match_id, "attempt": attempt, "n": message["n"], "problem": problem},
    }


def log_entry(
    component: str, event_type: str, details: Mapping[str, Any], *, level: str, timestamp: str
) -> dict[str, Any]:
    """One entry of a log with the fields of 004 5.10 and 10.6; details can replace ``agent_id`` and ``message`` only.

    Args:
        component: ``league_manager``, ``referee:REF01``, ``player:P01``.
        event_type: also the ``message``, unless the details have one.
        details: more fields.
        level: DEBUG, INFO, WARNING or ERROR.
        timestamp: ISO 8601 in UTC.
    """
    entry = {
        "timestamp": timestamp,
        "level": level,
        "component": component,
        "agent_id": component,
        "event_type": event_type,
        "message": event_type,
    }
    # A detail must not overwrite these fields: it could forge when or where something happened.
    fixed = {name: value for name, value in entry.items() if name not in ("agent_id", "message")}
    return {**entry, **details, **fixed}


class JsonLogger:
    """The log of one component.

    The file is ``<log_root>/league/<league_id>/<component>.log.jsonl``; without a league
    ``<log_root>/system/<component>.log.jsonl`` (004 10.6.2), or for an agent such as ``player:P01``
    ``<log_root>/agents/P01.log.jsonl`` (004 9.5.2).

    Args:
        component: ``league_manager``, ``referee:REF01``, ``player:P01``.
        league_id: the league that the component works for.
        log_root: the folder of all logs.
        min_level: entries below this level are not written.
        max_bytes: the size from which on the file is renamed to ``….1``, in place of an older one; None: any size.
        write: takes each line, without its line break, in place of the file.
        clock: returns the current time with a time zone.

    Raises:
        OSError: the folder cannot be created.
        ValueError: an unknown level.
    """

    def __init__(  # noqa: PLR0913 - 004 10.6 names the first two, the others have defaults
        self,
        component: str,
        league_id: str | None = None,
        *,
        log_root: Path | str = LOG_ROOT,
        min_level: str = "DEBUG",
        max_bytes: int | None = None,
        write: Callable[[str], None] | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self.component = component
        self._min_rank = _rank(min_level)
        self._max_bytes = max_bytes
        self._clock = clock
        kind, _, agent_id = component.partition(":")
        if league_id:
            folder, name = Path(log_root) / "league" / safe_name(league_id), component
        elif agent_id:
            folder, name = Path(log_root) / "agents", agent_id
        else:
            folder, name = Path(log_root) / "system", kind
        # A file name must not contain a slash, and on some systems no colon.
        self.log_file = folder / f"{safe_name(name)}.log.jsonl"
        self._write = write or self._append
        if write is None:
            folder.mkdir(parents=True, exist_ok=True)
            # An earlier process may have been killed within a line.
            self._line_break = missing_line_break(self.log_file)

    def log(self, event_type: str, level: str = "INFO", **details: Any) -> None:
        """Append one entry.

        Args:
            event_type: the event, such as ``MATCH_STARTED``; also the ``message``, unless the details have one.
            level: DEBUG, INFO, WARNING or ERROR.
            details: more fields. Secrets and tokens are blanked; values that are not JSON are written as text.

        Raises:
            ValueError: an unknown level.
            OSError: the file cannot be written.
        """
        if _rank(level) < self._min_rank:
            return
        moment = self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = log_entry(self.component, event_type, clean(details), level=level, timestamp=moment)
        line = redact(json.dumps(entry, ensure_ascii=False, default=str))
        # JSON leaves some characters that begin a new line, or change the direction of text, as they are.
        self._write(line if line.isascii() else one_line(line))

    def _append(self, line: str) -> None:
        try:
            with self.log_file.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{self._line_break}{line}\n")
                self._line_break = ""
                is_full = self._max_bytes is not None and file.tell() >= self._max_bytes
        except OSError:
            # A full disk may leave half a line.
            self._line_break = missing_line_break(self.log_file)
            raise
        if is_full:
            self.log_file.replace(self.log_file.with_name(f"{self.log_file.name}.1"))

    def debug(self, event_type: str, **details: Any) -> None:
        """Append an entry of level DEBUG."""
        self.log(event_type, level="DEBUG", **details)

    def info(self, event_type: str, **details: Any) -> None:
        """Append an entry of level INFO."""
        self.log(event_type, level="INFO", **details)

    def warning(self, event_type: str, **details: Any) -> None:
        """Append an entry of level WARNING."""
        self.log(event_type, level="WARNING", **details)

    def error(self, event_type: str, **details: Any) -> None:
        """Append an entry of level ERROR."""
        self.log(event_type, level="ERROR", **details)

    def log_message_sent(self, message_type: str, recipient: str, **details: Any) -> None:
        """Log a message that was sent (004 10.6.3)."""
        self.debug("MESSAGE_SENT", message_type=message_type, recipient=recipient, **details)

    def log_message_received(self, message_type: str, sender: str, **details: Any) -> None:
        """Log a message that was received (004 10.6.3)."""
        self.debug("MESSAGE_RECEIVED", message_type=message_type, sender=sender, **details)


def _rank(level: str) -> int:
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}, not one of {', '.join(LEVELS)}")
    return LEVELS.index(level)


def safe_name(name: str) -> str:
    """Turn a name into a safe name of a file or folder."""
    return _NOT_IN_A_NAME.sub("_", name).lstrip(".") or "_"
