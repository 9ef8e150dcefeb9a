"""A player's log: each message that it was sent or has sent, and what its strategy notes, for its author.

004 5.10, 9.5.2, 10.6.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from league_sdk.logger import JsonLogger
from league_sdk.protocol.transcript import body_for_transcript

logger = logging.getLogger("league_sdk.player")

MAX_BYTES = 10 * 1024 * 1024
"""A full log is renamed to ``….1``, in place of an older one: callers of the port cannot fill the disk."""


class Journal:
    """The log of one player, ``<folder>/logs/agents/<player_id>.log.jsonl``.

    Args:
        folder: the player's data folder; None keeps no log.
        max_bytes: a log of this size is full.
    """

    def __init__(self, folder: Path | None = None, *, max_bytes: int = MAX_BYTES) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._log: JsonLogger | None = None
        self._failed = False

    def open(self, player_id: str) -> None:
        """Open the log file, whose name contains the player's id; until then nothing is logged."""
        if self._folder is None or not player_id:
            return
        try:
            self._log = JsonLogger(f"player:{player_id}", log_root=self._folder / "logs", max_bytes=self._max_bytes)
        except OSError as error:
            self._warn_once(error)

    def received(self, message: Mapping[str, Any]) -> None:
        """Log a message that was received."""
        self._write("log_message_received", message, sender=str(message.get("sender") or ""))

    def sent(self, message: Mapping[str, Any], recipient: object) -> None:
        """Log a message that was sent."""
        self._write("log_message_sent", message, recipient=str(recipient or ""))

    def refused(self, message: Mapping[str, Any], problem: object) -> None:
        """Log that a message could not be used."""
        self._write("warning", message, event_type="MESSAGE_REFUSED", problem=str(problem))

    def note(self, event_type: str, details: Mapping[str, Any]) -> bool:
        """Log an event that is no message, such as a note of the strategy; returns whether it was written."""
        if self._log is None:
            return False
        try:
            self._log.info(event_type, details=details)
            self._failed = False
        except OSError as error:
            self._warn_once(error)
        return not self._failed

    def _write(self, way: str, message: Mapping[str, Any], **about: str) -> None:
        if self._log is None:
            return
        kind = str(message.get("message_type") or "")
        details = {name: message.get(name) for name in ("match_id", "round_id")}
        try:
            getattr(self._log, way)(
                **about,
                message_type=kind,
                message=kind,
                conversation_id=message.get("conversation_id"),
                league_id=message.get("league_id"),
                details={**details, "body": body_for_transcript(message)},
            )
            self._failed = False
        except OSError as error:
            self._warn_once(error)

    def _warn_once(self, error: OSError) -> None:
        """Warn that the log cannot be written, once until a line is written again; the player plays on."""
        if not self._failed:
            logger.warning("the log could not be written: %s", error)
        self._failed = True
