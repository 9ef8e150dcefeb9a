"""WRITES: checks that are due are taken to be run, by compare-and-swap; and what they keep from matches meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from agents_registry import credentials, programs
from agents_registry.attempts import network_of
from league_sdk.protocol.states import IN_PLAY, MatchState
from league_sdk.transport.lookups import zone
from matches.checks import runs
from matches.models import Check, CheckState, Match
from matches.push.nudge import nudge
from matches.view import readiness

MOST_AT_ONCE = 8
KEPT_FOR_LEAGUES = 2
"""Of these places, for checks that a league demands: who has not passed by the end of registration does not play."""
MOST_OF_ONE = 2
"""So many run at a place, and for who asked, while others wait: a check of something slow takes two minutes."""
CLAIM_S = 150.0
"""Who has taken a check for longer than this has lost it."""
HOLDS_A_MATCH_S = 30.0
"""A check ends within a few seconds unless the agent is slow: nobody delays a round by more with one of its own."""


@dataclass(frozen=True, slots=True)
class Job:
    """A check that was taken and is to be run now.

    Attributes:
        run: the number of this run; what it writes counts only while it is the latest.
        player_id: as what the agent is registered, with its league and the token our messages to it carry; empty
            for one that is not.
        dialect: the way of speaking to try first.
        stays: it is behind a gateway, where another path is another program.
        pinned: the name in its address, with the only addresses that are called for it.
    """

    check_id: UUID
    run: int
    role: str
    endpoint: str
    game_types: tuple[str, ...]
    player_id: str = ""
    league_id: str = ""
    league_token: str = ""
    dialect: str = "canonical"
    stays: bool = False
    pinned: tuple[tuple[str, tuple[str, ...]], ...] = ()


def occupied() -> set[str]:
    """READ: what programs that are being checked keep from matches (:func:`agents_registry.programs.held`).

    None of them is given a match meanwhile, for 30 s at most: nobody makes another's agent lose by having it checked as
    a round starts.
    """
    lately = timezone.now() - timedelta(seconds=HOLDS_A_MATCH_S)
    checks = Check.objects.filter(state=CheckState.RUNNING, started_at__gt=lately)
    running = list(checks.values_list("pk", "endpoint"))
    gateways = programs.gateways() if running else frozenset()
    called = [runs.called.get(pk) or programs.program(url, (), gateways).keys for pk, url in running]
    return {key for keys in called for key in programs.held(keys)}


def take(*, now: datetime, room: int = MOST_AT_ONCE) -> list[Job]:
    """Take the checks that are due, at most ``room``: WANTED to RUNNING, one per address, none whose match is due.

    First those that a league demands. Whoever has :data:`MOST_OF_ONE` on their way waits for everybody else, and the
    last :data:`KEPT_FOR_LEAGUES` places are for leagues (our choice): nobody keeps the others waiting.
    """
    runs.expire(now)
    due = Check.objects.filter(state=CheckState.WANTED, due_at__lte=now)
    if room < 1 or not due.exists():
        return []
    # A check calls a program as a match does, by whatever address: one that plays, or is about to, is left alone.
    gateways = programs.gateways()
    playing: set[str] = set()
    for match in Match.objects.filter(state__in=[MatchState.READY, *IN_PLAY]).select_related("player_a", "player_b"):
        for seat in (match.player_a, match.player_b):
            here = None if seat.program else programs.found(seat, gateways, nudge)
            playing |= programs.held(programs.known(seat, gateways) if here is None else here.keys)
    busy = _Busy(Check.objects.filter(state=CheckState.RUNNING).values_list("address", "asked_by"))
    leagues = set(readiness.asking_leagues().values_list("pk", flat=True))
    waiting = [
        (_is_demanded(check, leagues), check, behind)
        for check in due.defer("report").select_related("agent").order_by("due_at", "created_at")
        if (behind := programs.found_at(check.endpoint, gateways, nudge))
        and playing.isdisjoint(programs.free_for(behind.keys))
    ]
    waiting.sort(key=lambda one: not one[0])
    jobs: list[Job] = []
    for more in (False, True):
        for demanded, check, behind in waiting:
            kept = 0 if demanded and not more else KEPT_FOR_LEAGUES
            if len(jobs) >= room - kept or check.address in busy.addresses or not (more or busy.has_room(check)):
                continue
            if _claim(check, now):
                busy.add(check.address, check.asked_by)
                runs.called[check.pk] = behind.keys
                name = programs.looked_up(check.endpoint)
                pinned = ((name, behind.addresses),) if name else ()
                jobs.append(replace(_job(check), pinned=pinned, stays=programs.is_behind_gateway(behind.keys)))
    return jobs


def place_of(address: str) -> str:
    """Whose machines a checked address is at: one IP address, network of IPv6 or zone of names.

    Args:
        address: host and port of a check.
    """
    return network_of(zone(address.partition("|")[0]))


class _Busy:
    """What is being checked now: at which addresses and places, and for whom."""

    def __init__(self, running: Iterable[tuple[str, str]]) -> None:
        self.addresses: set[str] = set()
        self._of_one: Counter[str] = Counter()
        for address, asked_by in running:
            self.add(address, asked_by)

    def add(self, address: str, asked_by: str) -> None:
        """One more."""
        self.addresses.add(address)
        self._of_one.update(self._names(address, asked_by))

    def has_room(self, check: Check) -> bool:
        """Whether neither its place nor who asked has enough on the way."""
        return all(self._of_one[name] < MOST_OF_ONE for name in self._names(check.address, check.asked_by))

    @staticmethod
    def _names(address: str, asked_by: str) -> list[str]:
        # One owner has as many names of a zone, and as many addresses of an IPv6 network, as they like.
        asker = [] if asked_by in ("", runs.INSTRUCTOR) else [f"for {network_of(asked_by)}"]
        return [f"at {place_of(address)}", *asker]


def _is_demanded(check: Check, leagues: Collection[str]) -> bool:
    """Whether a league waits for it, be it that the student has asked for it first."""
    agent = check.agent
    return check.asked_by == "" or (agent is not None and agent.kind == check.role and agent.league_id in leagues)


def _job(check: Check) -> Job:
    agent = check.agent
    about = Job(check.pk, check.runs + 1, check.role, check.endpoint, tuple(check.game_types))
    if agent is None or agent.kind != check.role:
        return about
    return replace(
        about,
        player_id=agent.code,
        league_id=agent.league_id or agent.promised_league_id,
        league_token=credentials.league_token(agent),
        dialect=agent.dialect,
    )


def _claim(check: Check, now: datetime) -> bool:
    try:
        with transaction.atomic():
            taken = Check.objects.filter(pk=check.pk, state=CheckState.WANTED, runs=check.runs).update(
                state=CheckState.RUNNING,
                runs=F("runs") + 1,
                report={},
                started_at=now,
                claimed_until=now + timedelta(seconds=CLAIM_S),
            )
            if taken:
                runs.changed(check)
            return bool(taken)
    except IntegrityError:
        # Another conductor has just begun with this address.
        return False
