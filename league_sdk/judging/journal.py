"""A referee's log file: each message of its matches, at once, for those who run the referee (004 5.10, 9.5.2, 10.6).

It shows results before the public may know them, so it must not be in a folder that others read. It leaves out the
bodies of messages, and with them the choices: those are in the transcripts.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from league_sdk import log_files
from league_sdk.judging.match.brief import Brief
from league_sdk.logger import LEVELS, JsonLogger, message_facts, safe_name
from league_sdk.protocol.masking import without_addresses
from league_sdk.protocol.records import without_secrets
from league_sdk.protocol.transcript import Entry

logger = logging.getLogger(__name__)


class Journal:
    """The log of one referee, ``<folder>/agents/<referee_id>.log.jsonl``.

    The process's other log records go into the same file, and one thread writes them all.
    """

    def __init__(self) -> None:
        self._log: JsonLogger | None = None
        self._failed = False

    def open(self, referee_id: str, folder: Path) -> None:
        """Open the file, whose name needs the referee's id; do nothing if the environment switches log files off."""
        file = log_files.open_file(folder / "agents" / f"{safe_name(referee_id)}.log.jsonl")
        if file is not None:
            # Messages are logged at DEBUG, so that is the default; a level in the environment holds for them, too.
            level = os.environ.get(log_files.LEVEL_VARIABLE, "DEBUG").upper()
            min_level = level if level in LEVELS else LEVELS[-1]
            self._log = JsonLogger(f"referee:{referee_id}", log_root=folder, min_level=min_level, write=file.add)

    def record(self, brief: Brief, entry: Entry) -> None:
        """Log a message that was sent or received in a match; never raises."""
        if self._log is None:
            return
        try:
            self._record(self._log, brief, entry)
        except Exception:
            # A match must not be lost because a line of a log cannot be made.
            if not self._failed:
                logger.exception("a message could not be logged")
            self._failed = True

    def _record(self, log: JsonLogger, brief: Brief, entry: Entry) -> None:
        is_mine = entry["sender"] == brief.referee_id
        me, player = f"referee:{brief.referee_id}", f"player:{entry['recipient' if is_mine else 'sender']}"
        facts = message_facts(
            entry,
            sender=me if is_mine else player,
            recipient=player if is_mine else me,
            league_id=brief.league_id,
            match_id=brief.match_id,
            attempt=brief.attempt,
        )
        details = facts["details"]
        # The problem and the message type may quote what the player wrote.
        details["problem"] = without_secrets(without_addresses(details["problem"]))
        facts["message"] = facts["message_type"] = without_secrets(without_addresses(facts["message_type"]))
        facts["conversation_id"] = brief.conversation_id
        if details["problem"]:
            log.warning("MESSAGE_SENT" if is_mine else "MESSAGE_RECEIVED", **facts)
        elif is_mine:
            log.log_message_sent(**facts)
        else:
            log.log_message_received(**facts)
