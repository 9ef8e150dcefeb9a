"""READS: whose turn it is: how many checks and practice matches may run, of one place, of one requester, and in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, QuerySet

from agents_registry.rate_limits.attempts import network_of
from league_sdk.protocol.states import RoundState
from league_sdk.transport.lookups import zone
from matches.checks import runs
from matches.models import Check, Round

MAX_RUNNING_AFTER_REGISTRATION = 2
"""Of :data:`MAX_RUNNING`, for checks that registrations asked for by themselves; one of a place while others wait."""
MAX_RUNNING_PER_REQUESTER = 2
"""Running checks of one place, and of one requester, while others wait: the check of a slow agent takes two minutes."""
MAX_PRACTICES_RUNNING, MAX_PRACTICES_DURING_ROUND = 3, 1
"""Of :data:`MAX_RUNNING`, for practice matches; the second while a round is played, which they could slow down."""
PRACTICES_COUNTED_S = 600.0
"""Of waiting practice matches that one is first whose agent has had the fewest within so many seconds."""


def place_of(address: str) -> str:
    """The owner of a checked address as far as it can be told: an IPv4 address, an IPv6 network or a DNS zone.

    Args:
        address: host and port of a check.
    """
    return network_of(zone(address.partition("|")[0]))


def asked_lately(now: datetime) -> QuerySet[Check]:
    """READ: the checks that registrations have asked for within an hour."""
    return Check.objects.filter(asked_by=runs.REGISTRATION, created_at__gt=now - timedelta(hours=1))


def places(checks: QuerySet[Check]) -> Counter[str]:
    """READ: how many of these checks are of each place."""
    return Counter(place_of(address) for address in checks.values_list("address", flat=True))


def turn_of(checks: Iterable[Check], now: datetime) -> Callable[[Check], Any]:
    """What the due checks are sorted by, after those that a league demands.

    Those that somebody asked for, then those that registrations asked for, of places that have had few; and at last the
    practice matches, of agents that have played few.
    """
    practising = {check.agent_id for check in checks if check.is_practice}
    lately = places(asked_lately(now))
    played = Counter[int | None]()
    if practising:
        since = now - timedelta(seconds=PRACTICES_COUNTED_S)
        rows = Check.practices.filter(agent__in=practising, started_at__gt=since).values_list("agent")
        played.update(dict(rows.annotate(Count("pk"))))

    def turn(check: Check) -> tuple[bool, int]:
        if check.is_practice:
            return True, played[check.agent_id]
        return False, 1 + lately[place_of(check.address)] if check.asked_by == runs.REGISTRATION else 0

    return turn


class Busy:
    """Counts the running checks by address, by place and by requester; and the practice matches."""

    def __init__(self, running: Iterable[Check]) -> None:
        self.addresses: set[str] = set()
        self._running: Counter[str] = Counter()
        self._after_registration = self._practices = 0
        for check in running:
            self.add(check)

    def add(self, check: Check) -> None:
        """Count one more check."""
        self.addresses.add(check.address)
        if check.is_practice:
            # No check waits for its place.
            self._practices += 1
            return
        self._running.update(self._names(check.address, check.asked_by))
        self._after_registration += check.asked_by == runs.REGISTRATION

    def has_room(self, check: Check, *, alone: bool) -> bool:
        """Whether neither its place nor its requester has too many running checks; ``alone``: nobody else waits."""
        if check.is_practice:
            return self._practices < self.max_practices
        max_running = MAX_RUNNING_PER_REQUESTER
        if check.asked_by == runs.REGISTRATION:
            if self._after_registration >= MAX_RUNNING_AFTER_REGISTRATION:
                return False
            max_running = 1
        return alone or all(self._running[name] < max_running for name in self._names(check.address, check.asked_by))

    @cached_property
    def max_practices(self) -> int:
        """How many practice matches may run now."""
        rounds = Round.objects.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING])
        is_played = rounds.exclude(league__demo=True).exists()
        return MAX_PRACTICES_DURING_ROUND if is_played else MAX_PRACTICES_RUNNING

    @staticmethod
    def _names(address: str, asked_by: str) -> list[str]:
        # An owner can have any number of names in a zone, and of addresses in an IPv6 network: count them as one.
        asker = [] if asked_by in ("", runs.INSTRUCTOR, runs.REGISTRATION) else [f"for {network_of(asked_by)}"]
        return [f"at {place_of(address)}", *asker]
