"""WRITES: checks that are due are claimed by compare-and-swap; and which programs get no match meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from agents_registry.addresses import programs
from agents_registry.addresses.programs import Program
from agents_registry.models import Agent, Kind
from agents_registry.rate_limits.attempts import network_of
from agents_registry.registering import credentials, seats
from league_sdk.dialects.words import READY
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import IN_PLAY, MatchState
from league_sdk.transport.lookups import zone
from matches.checks import relaying, runs, ways
from matches.checks.ways import Target
from matches.models import Check, CheckState, League, Match
from matches.push.nudge import nudge
from matches.view import readiness

Relayed = Callable[[str, Mapping[str, Any]], None]
"""Takes the type and the fields of an answer whose sender was proven."""
MAX_RUNNING = 8
RESERVED_FOR_LEAGUES = 2
"""Of :data:`MAX_RUNNING`, for checks that a league demands: whoever has not passed them in time does not play."""
MAX_RUNNING_AFTER_REGISTRATION = 2
"""Of :data:`MAX_RUNNING`, for checks that registrations asked for by themselves; one of a place while others wait."""
MAX_RUNNING_PER_REQUESTER = 2
"""Running checks of one place, and of one requester, while others wait: the check of a slow agent takes two minutes."""
CLAIM_TIMEOUT_S = 150.0
"""A claim that is older is void: the process that made it has probably died."""
MAX_MATCH_DELAY_S = 30.0
"""An agent under check gets no match for so long at most, as a slow agent could delay its round by its own check."""


@dataclass(frozen=True, slots=True)
class Job:
    """A check that was claimed and is to be run now.

    Attributes:
        agent: the primary key of the agent whose line is used; None where its address is called.
        seen_from: an IP address from which that agent registered; empty if none is known.
        run: the number of this run; what it writes counts only while it is the latest.
        player_id: the id under which the agent is registered; empty when it is not.
        about: the primary key and the registration of that agent, for which is kept how it is called; None without.
        league_id: its league.
        league_token: the token that our messages to it carry.
        dialect: the way of speaking to try first.
        asked_by: who asked for the check.
        rules: the settings of its league, or of the one it was promised; else the defaults.
        is_overtaken: whether the agent is due in a match; the check stops then.
        stays: whether it is behind a gateway, where another path is another program.
        pinned: the host name in its address, and the only IP addresses that may be called for it.
        tokens: the digests of the tokens that prove an answer by POST; None of an agent that is not registered.
        own_tokens: those of them with which an answer by POST need not name its match.
        ready_in: the way of speaking in which it has said that it is ready; empty if it has not.
        on_posts: told what takes the answers that it sends to the league manager.
        keys: of the program behind the address of an agent whose line is used, which is called if the line is gone.
    """

    check_id: UUID
    run: int
    role: str
    endpoint: str
    game_types: tuple[str, ...]
    player_id: str = ""
    about: tuple[int, str] | None = None
    league_id: str = ""
    league_token: str = ""
    dialect: str = "canonical"
    asked_by: str = ""
    rules: LeagueSettings = field(default_factory=LeagueSettings)
    is_overtaken: Callable[[], bool] = lambda: False
    stays: bool = False
    pinned: tuple[tuple[str, tuple[str, ...]], ...] = ()
    agent: int | None = None
    seen_from: str = ""
    tokens: frozenset[str] | None = None
    own_tokens: frozenset[str] = frozenset()
    ready_in: str = ""
    on_posts: Callable[[Relayed], None] = lambda relayed: None
    keys: frozenset[str] = frozenset()


def occupied() -> set[str]:
    """READ: the keys of programs under check, which get no match (:func:`agents_registry.addresses.programs.held`).

    This lasts 30 s at most. Without it anybody could make another's agent lose by having it checked as a round starts.
    """
    lately = timezone.now() - timedelta(seconds=MAX_MATCH_DELAY_S)
    checks = Check.objects.filter(state=CheckState.RUNNING, started_at__gt=lately)
    running = list(checks.only("endpoint", "way", "agent_id"))
    gateways = programs.gateways() if running else frozenset()
    return {key for check in running for key in programs.held(_called(check, gateways))}


def _called(check: Check, gateways: frozenset[str]) -> frozenset[str]:
    """The keys of what a running check calls.

    A line may be anybody's who has named this address: nobody but its own agent waits for that, until the line is gone
    and the address is called (:func:`falls_back`).
    """
    if ways.is_line(check.way) and check.agent_id is not None:
        return runs.called_programs.get(check.pk, frozenset()) | {programs.oneself(check.agent_id)}
    return runs.called_programs.get(check.pk) or programs.program(check.endpoint, (), gateways).keys


def take(*, now: datetime, room: int = MAX_RUNNING) -> list[Job]:
    """Take the checks that are due, at most ``room``: WANTED to RUNNING, one per address, none whose match is due.

    Checks that a league demands come first, and the last :data:`RESERVED_FOR_LEAGUES` places are kept for them. A place
    or a requester with :data:`MAX_RUNNING_PER_REQUESTER` running checks waits for everybody else (our choice).
    """
    runs.expire(now)
    due = Check.objects.filter(state=CheckState.WANTED, due_at__lte=now)
    if room < 1 or not due.exists():
        return []
    # A check calls a program as a match does, by whatever address: one that plays, or is about to, is left alone.
    gateways = programs.gateways()
    playing = _playing(gateways)
    busy = _Busy(Check.objects.filter(state=CheckState.RUNNING).values_list("address", "asked_by"))
    leagues = set(readiness.asking_leagues().values_list("pk", flat=True))
    waiting = [
        (_is_demanded(check, leagues), check, target, behind)
        for check in due.defer("report").select_related("agent__league").order_by("due_at", "created_at")
        if (behind := programs.find((target := ways.of_check(check)).endpoint, gateways, nudge))
        and playing.isdisjoint(programs.free_for(behind.keys) | {programs.oneself(check.agent_id or 0)})
    ]
    lately = places(asked_lately(now))
    waiting.sort(key=lambda one: (not one[0], _turn(one[1], lately)))
    jobs: list[Job] = []
    for more in (False, True):
        for demanded, check, target, behind in waiting:
            kept = 0 if demanded and not more else RESERVED_FOR_LEAGUES
            if len(jobs) >= room - kept or target.address in busy.addresses or not busy.has_room(check, alone=more):
                continue
            if _claim(check, target, now):
                busy.add(target.address, check.asked_by)
                jobs.append(_pinned(_job(check), check, behind))
    return jobs


def _pinned(job: Job, check: Check, behind: Program) -> Job:
    """The job with what was found behind the address that it calls; one over a line calls none while that is open."""
    name = programs.looked_up(check.endpoint)
    job = replace(job, pinned=((name, behind.addresses),) if name else ())
    if job.agent is not None:
        return replace(job, keys=frozenset() if check.agent is None or check.agent.is_inbox_only else behind.keys)
    runs.called_programs[check.pk] = behind.keys
    return replace(job, stays=programs.is_behind_gateway(behind.keys))


def falls_back(job: Job) -> bool:
    """Whether the address of an agent may be called whose line is gone, as a match would call it.

    Changes: from then on the program at that address counts as under check. A program that plays, or is about to, or is
    under another check is left alone.
    """
    if not job.keys or job.check_id in runs.called_programs:
        return bool(job.keys)
    gateways = programs.gateways()
    others = Check.objects.filter(state=CheckState.RUNNING).exclude(pk=job.check_id).only("endpoint", "way", "agent_id")
    busy = _playing(gateways).union(*(programs.held(_called(check, gateways)) for check in others))
    if not busy.isdisjoint(programs.free_for(job.keys)):
        return False
    runs.called_programs[job.check_id] = job.keys
    return True


def asked_lately(now: datetime) -> QuerySet[Check]:
    """READ: the checks that registrations have asked for within an hour."""
    return Check.objects.filter(asked_by=runs.REGISTRATION, created_at__gt=now - timedelta(hours=1))


def places(checks: QuerySet[Check]) -> Counter[str]:
    """READ: how many of these checks are of each place."""
    return Counter(place_of(address) for address in checks.values_list("address", flat=True))


def _turn(check: Check, lately: Mapping[str, int]) -> int:
    """0 for a check that somebody asked for; of the others those of places that have had few come first."""
    return 1 + lately[place_of(check.address)] if check.asked_by == runs.REGISTRATION else 0


def overtaken(jobs: Iterable[Job]) -> set[UUID]:
    """READ: the ids of running checks that registrations asked for and whose agent is due in a match."""
    asked = [job for job in jobs if job.asked_by == runs.REGISTRATION]
    if not asked:
        return set()
    playing = _playing(programs.gateways())
    called = {
        job.check_id: runs.called_programs.get(job.check_id, frozenset())
        | ({programs.oneself(job.agent)} if job.agent is not None else frozenset())
        for job in asked
    }
    return {check_id for check_id, keys in called.items() if not playing.isdisjoint(programs.free_for(keys))}


def _playing(gateways: frozenset[str]) -> set[str]:
    """The keys of programs and players that play, or are about to."""
    playing: set[str] = set()
    for match in Match.objects.filter(state__in=[MatchState.READY, *IN_PLAY]).select_related("player_a", "player_b"):
        for seat in (match.player_a, match.player_b):
            here = None if seat.program else programs.find(seat.endpoint, gateways, nudge)
            playing |= programs.taken(seat, programs.known(seat, gateways) if here is None else here.keys)
    return playing


def place_of(address: str) -> str:
    """The owner of a checked address as far as it can be told: an IPv4 address, an IPv6 network or a DNS zone.

    Args:
        address: host and port of a check.
    """
    return network_of(zone(address.partition("|")[0]))


class _Busy:
    """Counts the running checks by address, by place and by requester."""

    def __init__(self, running: Iterable[tuple[str, str]]) -> None:
        self.addresses: set[str] = set()
        self._running: Counter[str] = Counter()
        self._after_registration = 0
        for address, asked_by in running:
            self.add(address, asked_by)

    def add(self, address: str, asked_by: str) -> None:
        """Count one more check."""
        self.addresses.add(address)
        self._running.update(self._names(address, asked_by))
        self._after_registration += asked_by == runs.REGISTRATION

    def has_room(self, check: Check, *, alone: bool) -> bool:
        """Whether neither its place nor its requester has too many running checks; ``alone``: nobody else waits."""
        max_running = MAX_RUNNING_PER_REQUESTER
        if check.asked_by == runs.REGISTRATION:
            if self._after_registration >= MAX_RUNNING_AFTER_REGISTRATION:
                return False
            max_running = 1
        return alone or all(self._running[name] < max_running for name in self._names(check.address, check.asked_by))

    @staticmethod
    def _names(address: str, asked_by: str) -> list[str]:
        # An owner can have any number of names in a zone, and of addresses in an IPv6 network: count them as one.
        asker = [] if asked_by in ("", runs.INSTRUCTOR, runs.REGISTRATION) else [f"for {network_of(asked_by)}"]
        return [f"at {place_of(address)}", *asker]


def _is_demanded(check: Check, leagues: Collection[str]) -> bool:
    """Whether a league waits for this check, even if the student asked for it first."""
    agent = check.agent
    return check.asked_by == "" or (agent is not None and agent.kind == check.role and agent.league_id in leagues)


def _job(check: Check) -> Job:
    agent = check.agent
    games = tuple(check.game_types)
    about = Job(check.pk, check.runs + 1, check.role, check.endpoint, games, asked_by=check.asked_by)
    if agent is None or agent.kind != check.role:
        return about
    if agent.kind == Kind.PLAYER and not ways.is_line(check.way):
        agent = seats.who_is_at(agent)
    league = agent.league or League.objects.filter(pk=agent.promised_league_id).first()
    if ways.is_line(check.way):
        about = replace(about, agent=agent.pk, seen_from=agent.registered_from)
    return replace(
        about,
        player_id=agent.code,
        about=(agent.pk, agent.registration),
        league_id=agent.league_id or agent.promised_league_id,
        league_token=credentials.league_token(agent),
        dialect=agent.dialect,
        ready_in=agent.spoken.get(READY, ""),
        tokens=_tokens(check, agent),
        own_tokens=_digests(relaying.may_name_no_match(check)),
        rules=league.rules if league is not None else LeagueSettings(),
    )


def _tokens(check: Check, agent: Agent) -> frozenset[str]:
    """Of the agent, and of all that are registered at the same address: readiness belongs to who listens there."""
    here = {agent.pk}
    if not ways.is_line(check.way):
        here.update(Agent.objects.filter(endpoint_key=check.endpoint_key).values_list("pk", flat=True))
    return _digests(here)


def _digests(agents: Collection[int]) -> frozenset[str]:
    return frozenset(digest for known in credentials.token_digests(agents).values() for digest in known)


def _claim(check: Check, target: Target, now: datetime) -> bool:
    """Take a check that was waiting, by the way that was found for it; false if another process has taken it."""
    try:
        with transaction.atomic():
            taken = Check.objects.filter(pk=check.pk, state=CheckState.WANTED, runs=check.runs).update(
                state=CheckState.RUNNING,
                endpoint=target.endpoint,
                endpoint_key=target.key,
                address=target.address,
                way=target.way,
                runs=F("runs") + 1,
                report={},
                started_at=now,
                claimed_until=now + timedelta(seconds=CLAIM_TIMEOUT_S),
            )
            if taken:
                check.endpoint, check.endpoint_key, check.way = target.endpoint, target.key, target.way
                runs.changed(check)
            return bool(taken)
    except IntegrityError:
        # Another conductor has just begun with this address.
        return False
