"""The lead: of several conductors one conducts, and another takes over when the first ends or stops renewing the lead.

Safety does not depend on it: every step of a league is a compare-and-swap. Two conductors that both believe that they
lead (one was suspended and has not noticed yet) send a message twice, with the same conversation_id, and count nothing
twice.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from matches.models import Lead

logger = logging.getLogger(__name__)

THE_LEAD = "conductor"
LEAD_TIMEOUT_S = 3.0
"""How long the lead is valid without being renewed."""
RENEW_INTERVAL_S = 1.0
"""How often the conductor that has the lead renews it."""


def take_lead(*, holder: str, force: bool = False) -> bool:
    """Take the lead if it is free, or renew it.

    Args:
        holder: the conductor's unique name.
        force: take it even from a conductor that has it.

    Returns whether ``holder`` has it now.
    """
    mine = Lead.objects.filter(pk=THE_LEAD)
    if not force:
        mine = mine.filter(Q(holder=holder) | Q(until__lte=Now()))
    until = Now() + timedelta(seconds=LEAD_TIMEOUT_S)
    if mine.update(holder=holder, until=until):
        return True
    if Lead.objects.filter(pk=THE_LEAD).exists():
        return False
    # The first conductor of this database. If two insert the row at once, the primary key admits one.
    first = Lead(pk=THE_LEAD, holder=holder, until=until)
    Lead.objects.bulk_create([first], ignore_conflicts=True)
    return Lead.objects.filter(pk=THE_LEAD, holder=holder).exists()


def give_up_lead(*, holder: str) -> None:
    """Give up the lead, so that another conductor can take it at once."""
    Lead.objects.filter(pk=THE_LEAD, holder=holder).update(until=Now())


class Claim:
    """One conductor's claim to the lead. Its methods write to the database.

    Attributes:
        held: whether this conductor had the lead when it last asked.

    Args:
        force: the first time, take it even from a conductor that has it.
    """

    def __init__(self, *, force: bool) -> None:
        self.held = False
        # Host and process are for a person who reads the row; the random part makes the name unique.
        self._holder = f"{socket.gethostname()[:32]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self._force = force
        self._asked_at = 0.0

    def renew(self) -> bool:
        """Take the lead, or renew it once a second; returns whether this conductor has it."""
        now = time.monotonic()
        if not self.held or now - self._asked_at >= RENEW_INTERVAL_S:
            led, self.held = self.held, take_lead(holder=self._holder, force=self._force)
            self._asked_at, self._force = now, False
            if led != self.held:
                logger.info("this conductor %s", "conducts" if self.held else "waits: another one conducts")
        return self.held

    def give_up(self) -> None:
        """Give up the lead if this conductor has it."""
        if self.held:
            self.held = False
            give_up_lead(holder=self._holder)
