"""READS: which check runs next: the limits for checks and practice matches by place, by requester, and in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from agents_registry.rate_limits.attempts import network_of
from league_sdk.protocol.states import RoundState
from league_sdk.transport.lookups import zone
from matches.checks import runs
from matches.models import Check, CheckState, Round

MAX_RUNNING_AFTER_REGISTRATION = 2
"""How many checks that registrations started may run at once; only one for each place while others wait."""
MAX_RUNNING_PER_REQUESTER = 2
"""How many checks may run at once for one place, and for one requester, while others wait: a check of a slow agent
takes two minutes."""
MAX_PRACTICES_RUNNING, MAX_PRACTICES_DURING_ROUND = 3, 1
"""How many practice matches may run at once: in general, and while a round is played, which they could slow down."""
PRACTICES_COUNTED_S = 600.0
"""The period for counting the practice matches of a person and of an agent: who has the fewest has the next turn."""
MAX_PRACTICE_BEFORE_OTHERS_S = 60.0
"""How long a practice match may run while somebody waits for its place. A silent agent takes four times as long."""


def place_of(address: str) -> str:
    """What stands for the owner of a checked address: an IPv4 address, an IPv6 network or a DNS zone.

    Args:
        address: host and port of a check.
    """
    return network_of(zone(address.partition("|")[0]))


def person_of(practice: Check) -> str:
    """What stands for the person behind a practice match: the owner's email address, in whichever league the agent is.

    Without an owner, the IP address from which the agent registered: all agents of a laptop, and a whole class behind
    one router, which a roster tells apart.
    """
    agent = practice.agent
    if agent is not None and agent.owner is not None:
        return agent.owner.email
    return (agent and agent.registered_from) or place_of(practice.address)


def asked_lately(now: datetime) -> QuerySet[Check]:
    """READ: the checks that registrations have asked for within an hour."""
    return Check.objects.filter(asked_by=runs.REGISTRATION, created_at__gt=now - timedelta(hours=1))


def places(checks: QuerySet[Check]) -> Counter[str]:
    """READ: the number of these checks for each place."""
    return Counter(place_of(address) for address in checks.values_list("address", flat=True))


def turn_of(checks: Iterable[Check], now: datetime) -> Callable[[Check], Any]:
    """The sort key of due checks; checks that a league demands come before all of these.

    First are checks that somebody asked for; then those of registrations, places with few recent checks first; last are
    practice matches, persons with few recent ones first, and of one person the agents with few.
    """
    lately = places(asked_lately(now))
    played = Counter[Any]()
    if any(check.is_practice for check in checks):
        since = now - timedelta(seconds=PRACTICES_COUNTED_S)
        for one in practices(started_at__gt=since):
            played.update([person_of(one), one.agent_id])

    def turn(check: Check) -> tuple[int, ...]:
        if check.is_practice:
            return True, played[person_of(check)], played[check.agent_id]
        return False, 1 + lately[place_of(check.address)] if check.asked_by == runs.REGISTRATION else 0

    return turn


def practices(**which: Any) -> QuerySet[Check]:
    """READ: practice matches with what :func:`person_of` looks at."""
    return Check.practices.filter(**which).select_related("agent__owner").defer("report")


def crowding(waiting: Iterable[Check], now: datetime) -> list[UUID]:
    """READ: the running practice matches that give way, so that others have a place.

    Of each person all but the first give way, the latest first; then those that run for longer than
    :data:`MAX_PRACTICE_BEFORE_OTHERS_S`. As many do as there are persons who wait and have none that runs.

    Args:
        waiting: the practice matches that could start now if there was a place.
    """
    running = list(practices(state=CheckState.RUNNING).order_by("-started_at"))
    first = {person_of(one): one for one in running}
    too_early = now - timedelta(seconds=MAX_PRACTICE_BEFORE_OTHERS_S)
    extra = [one.pk for one in running if first[person_of(one)] != one]
    long = [one.pk for one in reversed(first.values()) if one.started_at and one.started_at < too_early]
    wanted = len({person_of(one) for one in waiting} - first.keys()) + len(running) - Busy(running).max_practices
    return [*extra, *long][: max(0, wanted)]


class Busy:
    """Counts the running checks by address, by place and by requester; and the practice matches by person."""

    def __init__(self, running: Iterable[Check]) -> None:
        self.addresses: set[str] = set()
        self._running: Counter[str] = Counter()
        self._practices: Counter[str] = Counter()
        self._after_registration = 0
        for check in running:
            self.add(check)

    def add(self, check: Check) -> None:
        """Count one more check."""
        self.addresses.add(check.address)
        if check.is_practice:
            # Practice matches do not count against a place's checks.
            self._practices[person_of(check)] += 1
            return
        self._running.update(self._names(check.address, check.asked_by))
        self._after_registration += check.asked_by == runs.REGISTRATION

    def has_room(self, check: Check, *, alone: bool) -> bool:
        """Whether the place and the requester of a check are below their limits; ``alone``: no other check waits."""
        if check.is_practice:
            is_first = alone or not self._practices[person_of(check)]
            return is_first and self._practices.total() < self.max_practices
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
        # One owner can have many names in a zone and many addresses in an IPv6 network, so they count as one.
        asker = [] if asked_by in ("", runs.INSTRUCTOR, runs.REGISTRATION) else [f"for {network_of(asked_by)}"]
        return [f"at {place_of(address)}", *asker]
