"""The lead of all conductors of a site, as one of them has it or waits for it."""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid

from matches.league import leading

logger = logging.getLogger(__name__)

RENEW_S = 1.0
"""The lead is taken again this often; it holds three times as long."""


class Lead:
    """One conductor's claim to the lead. Its methods write to the database.

    Attributes:
        held: whether it was had when it was last asked for.

    Args:
        force: take it at the first time from whoever has it.
    """

    def __init__(self, *, force: bool) -> None:
        self.held = False
        # For a person who looks at the row; the end of it is what makes it ours alone.
        self._holder = f"{socket.gethostname()[:32]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self._force = force
        self._asked_at = 0.0

    def renew(self) -> bool:
        """Ask for the lead, or, once a second, hold on to it; whether it is ours."""
        now = time.monotonic()
        if not self.held or now - self._asked_at >= RENEW_S:
            led, self.held = self.held, leading.take_lead(holder=self._holder, force=self._force)
            self._asked_at, self._force = now, False
            if led != self.held:
                logger.info("this conductor %s", "conducts" if self.held else "waits: another one conducts")
        return self.held

    def give_up(self) -> None:
        """Let the next conductor begin at once, if it is ours."""
        if self.held:
            self.held = False
            leading.give_up_lead(holder=self._holder)
