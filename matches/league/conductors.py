"""Which conductors are there, and which leagues are whose.

Every conductor keeps a row that says until when it is there. The leagues are divided between those that are: each
league belongs to the conductor that wins its draw (rendezvous hashing), so that a conductor which comes or goes moves
no league but its own. What concerns all leagues, such as choosing referees, is drawn in the same way.

Safety does not depend on it: every step of a league is a compare-and-swap. Two conductors that both believe that a
league is theirs (one was suspended and has not noticed yet) send a message twice, with the same conversation_id, and
count nothing twice.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b

from django.db.models.functions import Now

from matches.models import ConductorLease

logger = logging.getLogger(__name__)

LEASE_S = 2.5
"""How long a conductor counts as there without a sign of life."""
RENEW_INTERVAL_S = 1.0
"""How often a conductor gives one."""
READ_INTERVAL_S = 0.5
"""How often it reads who is there."""
JOINING_S = 1.5
"""A conductor that finds others waits this long before it does anything: until they have all read that it is there."""
FORGET_AFTER_S = 60
"""How long the row of a conductor that was killed is kept, for a person who looks."""
SITE = ""
"""What is drawn for the work that concerns all leagues; no league has this id."""


@dataclass(frozen=True, slots=True)
class Duty:
    """What is one conductor's.

    Attributes:
        name: the conductor.
        present: the conductors that are there; without ``name`` nothing is its own.
    """

    name: str
    present: tuple[str, ...]

    def has(self, league_id: str) -> bool:
        """Whether a league is this conductor's."""
        return max(self.present, key=lambda name: _drawn(name, league_id), default=None) == self.name

    @property
    def leads(self) -> bool:
        """Whether the work that concerns all leagues is this conductor's."""
        return self.has(SITE)

    @property
    def is_whole(self) -> bool:
        """Whether there is no other conductor."""
        return self.present == (self.name,)


WHOLE = Duty("", ("",))
"""The duty of a conductor that is alone."""
NOTHING = Duty("", ())


def _drawn(name: str, league_id: str) -> bytes:
    return blake2b(f"{name}/{league_id}".encode(), digest_size=8).digest()


def are_there() -> bool:
    """READ: whether any conductor is there."""
    return ConductorLease.objects.filter(until__gt=Now()).exists()


class Membership:
    """One conductor among those of the site. Its methods use the database.

    Args:
        alone: whoever else is said to be there has been killed: this is the only conductor of its site.
        monotonic: seconds.

    Attributes:
        duty: what was this conductor's when it last asked.
    """

    def __init__(self, *, alone: bool, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.duty = NOTHING
        self.name = uuid.uuid4().hex[:12]
        # For a person who reads the row.
        self._holder = f"{socket.gethostname()[:32]}:{os.getpid()}"
        self._alone, self._monotonic = alone, monotonic
        self._renewed_at = self._read_at = self._acts_at = -LEASE_S

    def renew(self) -> Duty:
        """Give a sign of life once a second, and read who is there; returns what is this conductor's."""
        now = self._monotonic()
        joins = not self.duty.present or now - self._renewed_at >= LEASE_S
        if joins or now - self._renewed_at >= RENEW_INTERVAL_S:
            self._renew(joins=joins)
            self._renewed_at = now
        if joins or now - self._read_at >= READ_INTERVAL_S:
            there = ConductorLease.objects.filter(until__gt=Now()).values_list("name", flat=True)
            present = tuple(sorted({*there, self.name}))
            if joins and present != (self.name,):
                self._acts_at = now + JOINING_S
            self._read_at = now
            self._note(present if now >= self._acts_at else tuple(one for one in present if one != self.name))
        return self.duty

    def _renew(self, *, joins: bool) -> None:
        if joins:
            others = ConductorLease.objects.exclude(pk=self.name)
            gone = others if self._alone else others.filter(until__lt=Now() - timedelta(seconds=FORGET_AFTER_S))
            gone.delete()
        until = Now() + timedelta(seconds=LEASE_S)
        if not ConductorLease.objects.filter(pk=self.name).update(until=until):
            ConductorLease.objects.create(pk=self.name, holder=self._holder, until=until)

    def _note(self, present: tuple[str, ...]) -> None:
        if present == self.duty.present:
            return
        self.duty = Duty(self.name, present)
        does = "also does what concerns all leagues" if self.duty.leads else "conducts its leagues"
        if self.name not in present:
            does = "waits until the others know of it"
        logger.info("%d conductors are there; this one %s", len(present), does)

    def leave(self) -> None:
        """Say that this conductor is not there any more, so that others take its leagues at once."""
        self.duty = NOTHING
        ConductorLease.objects.filter(pk=self.name).delete()
