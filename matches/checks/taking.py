"""WRITES: claims the checks that are due, by compare-and-swap; tells which programs get no match meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from agents_registry.addresses import programs
from agents_registry.addresses.programs import Program
from agents_registry.models import Agent, Kind
from agents_registry.registering import credentials, seats
from league_sdk.dialects.words import READY
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import IN_PLAY, LeagueState, MatchState
from matches.checks import practising, relaying, runs, ways
from matches.checks.turns import Busy, crowding, turn_of
from matches.checks.ways import Target
from matches.inbox.hub import hub
from matches.models import Check, CheckState, League, Match
from matches.push.nudge import nudge
from matches.view import readiness
from storage import clock

Relayed = Callable[[str, Mapping[str, Any]], None]
"""Takes the type and the fields of an answer whose sender was proven."""
MAX_RUNNING = 8
RESERVED_FOR_LEAGUES = 2
"""Places of :data:`MAX_RUNNING` for checks that a league demands: a player that has not passed in time is left out."""
CLAIM_TIMEOUT_S, PRACTICE_CLAIM_TIMEOUT_S = 150.0, 330.0
"""A claim that is older is void: the process that made it has probably died."""
RESERVED_FOR_CHECKS = RESERVED_FOR_LEAGUES + 1
"""A practice match never takes the last place that a check could have."""
MAX_MATCH_DELAY_S = 30.0
"""An agent under check gets no match for at most this long, as a slow agent could delay its round by its own check."""


@dataclass(frozen=True, slots=True)
class Job:
    """A check that was claimed and is to be run now.

    Attributes:
        agent: the primary key of the agent whose line is used; None where its address is called.
        seen_from: an IP address from which that agent registered; empty if none is known.
        run: the number of this run; what it writes counts only while it is the latest.
        player_id: the id under which the agent is registered; empty when it is not.
        learns_for: the primary key and the registration of that agent: what the check finds out about how it is called
            is kept for this registration. None if no agent is registered.
        league_id: its league, or the one it was promised.
        league_token: the token that our messages to it carry.
        dialect: the way of speaking to try first.
        asked_by: who asked for the check.
        rules: the settings of its league, or of the one it was promised; else the defaults.
        is_overtaken: whether the check has to give way (:func:`overtaken`); it stops then.
        behind_gateway: whether it is behind a gateway, where another path is another program.
        pinned: the host name in its address, and the only IP addresses that may be called for it.
        tokens: the digests of the tokens that prove an answer by POST; None of an agent that is not registered.
        own_tokens: those of them with which an answer by POST need not name its match.
        ready_in: the way of speaking in which it has said that it is ready; empty if it has not.
        on_posts: called with the function that takes the answers which it sends to the league manager.
        keys: the keys of the program at the address of an agent whose line is used; it is called if the line is gone.
        opponent: the strength of the house agent in a practice match; empty for a check.
        second: whether the house agent is PLAYER_A.
        in_play: whether its league, or that of another agent at its address, may have begun and not be over.
        shown_by: for a practice match at an address that other agents name, too: the digests of the agent's tokens.
            Its answer to the invitation must carry one of these tokens, which shows that it is this agent.
    """

    check_id: UUID
    run: int
    role: str
    endpoint: str
    game_types: tuple[str, ...]
    player_id: str = ""
    learns_for: tuple[int, str] | None = None
    league_id: str = ""
    league_token: str = ""
    dialect: str = "canonical"
    asked_by: str = ""
    rules: LeagueSettings = field(default_factory=LeagueSettings)
    is_overtaken: Callable[[], bool] = lambda: False
    behind_gateway: bool = False
    pinned: tuple[tuple[str, tuple[str, ...]], ...] = ()
    agent: int | None = None
    seen_from: str = ""
    tokens: frozenset[str] | None = None
    own_tokens: frozenset[str] = frozenset()
    ready_in: str = ""
    on_posts: Callable[[Relayed], None] = lambda relayed: None
    keys: frozenset[str] = frozenset()
    opponent: str = ""
    second: bool = False
    in_play: bool = False
    shown_by: frozenset[str] = frozenset()

    @property
    def gives_way(self) -> bool:
        """Whether it stops as soon as its agent is due in a match: nobody but its student waits for it."""
        return self.asked_by == runs.REGISTRATION or self.opponent != ""


def occupied() -> set[str]:
    """READ: the keys of programs under check, which get no match (:func:`agents_registry.addresses.programs.held`).

    This lasts 30 s at most. If they got one, anybody could make another's agent lose by a check as a round starts.
    """
    lately = clock.now() - timedelta(seconds=MAX_MATCH_DELAY_S)
    checks = Check.checks_and_practices.filter(state=CheckState.RUNNING, started_at__gt=lately)
    running = list(checks.only("endpoint", "way", "agent_id"))
    gateways = programs.gateways() if running else frozenset()
    return {key for check in running for key in programs.held(_called(check, gateways))}


def _called(check: Check, gateways: frozenset[str]) -> frozenset[str]:
    """The keys of what a running check calls.

    Anybody may have opened a line and named this address. So a check over a line keeps only its own agent out of
    matches, until the line is gone and the address is called (:func:`falls_back`).
    """
    if ways.is_line(check.way) and check.agent_id is not None:
        return runs.called_program_keys.get(check.pk, frozenset()) | {programs.oneself(check.agent_id)}
    return runs.called_program_keys.get(check.pk) or programs.program(check.endpoint, (), gateways).keys


def take(*, now: datetime, room: int = MAX_RUNNING) -> list[Job]:
    """Take the checks that are due, at most ``room``: WANTED to RUNNING, one per address, none whose match is due.

    Checks that a league demands come first, and the last :data:`RESERVED_FOR_LEAGUES` places are kept for them. A place
    or a requester at its limit of running checks waits for everybody else (our choice). Practice matches come last. The
    limits are in :mod:`matches.checks.turns`.
    """
    runs.expire(now)
    due = Check.checks_and_practices.filter(state=CheckState.WANTED, due_at__lte=now)
    if room < 1 or not due.exists():
        return []
    gateways = programs.gateways()
    running = Check.checks_and_practices.filter(state=CheckState.RUNNING)
    busy = Busy(running.select_related("agent__owner").defer("report"))
    leagues = set(readiness.leagues_demanding_check().values_list("pk", flat=True))
    waiting = [(_is_demanded(one[0], leagues), *one) for one in _startable(due, _playing(gateways), gateways, now)]
    checked_addresses = {target.address for _demanded, check, target, _behind in waiting if not check.is_practice}
    turn = turn_of([check for _demanded, check, _target, _behind in waiting], now)
    waiting.sort(key=lambda one: (not one[0], turn(one[1])))
    jobs: list[Job] = []
    # In the second pass nobody else waits: checks beyond the limits of their place and requester run, too.
    for alone in (False, True):
        for demanded, check, target, behind in waiting:
            reserved = 0 if demanded and not alone else RESERVED_FOR_LEAGUES
            reserved = RESERVED_FOR_CHECKS if check.is_practice else reserved
            if len(jobs) >= room - reserved or target.address in busy.addresses:
                continue
            if not busy.has_room(check, alone=alone):
                continue
            if check.is_practice and target.address in checked_addresses:
                continue
            if _claim(check, target, now):
                busy.add(check)
                jobs.append(_pinned(_job(check, behind.keys, gateways), check, behind))
    return jobs


def _startable(
    due: QuerySet[Check], playing: Collection[str], gateways: frozenset[str], now: datetime
) -> Iterator[tuple[Check, Target, Program]]:
    """The due checks with how they would call, but none of a program that plays, or is about to, by any address."""
    for check in practising.playable(due.defer("report").select_related("agent__league", "agent__owner"), now):
        target = ways.of_check(check)
        if ways.is_line(target.way) and (what := hub.stalled()):
            runs.postpone(check=check, why=what, now=now)
            continue
        behind = programs.find(target.endpoint, gateways, nudge)
        free = programs.free_for(behind.keys) | {programs.oneself(check.agent_id or 0)} if behind else frozenset()
        if behind and free.isdisjoint(playing):
            yield check, target, behind


def _pinned(job: Job, check: Check, behind: Program) -> Job:
    """The job with what was found behind its address, which a job over a line calls only once the line is gone."""
    name = programs.looked_up(check.endpoint)
    job = replace(job, pinned=((name, behind.addresses),) if name else ())
    if job.agent is not None:
        # A practice match is over when the line is gone: the program on a line need not be the one at the address.
        alone = check.is_practice or check.agent is None or check.agent.is_inbox_only
        return replace(job, keys=frozenset() if alone else behind.keys)
    runs.called_program_keys[check.pk] = behind.keys
    return replace(job, behind_gateway=programs.is_behind_gateway(behind.keys))


def falls_back(job: Job) -> bool:
    """Whether the address of an agent may be called whose line is gone, as a match would call it.

    Changes: from then on the program at that address counts as under check. A program that plays, or is about to, or is
    under another check is left alone.
    """
    if not job.keys or job.check_id in runs.called_program_keys:
        return bool(job.keys)
    gateways = programs.gateways()
    others = (
        Check.checks_and_practices.filter(state=CheckState.RUNNING)
        .exclude(pk=job.check_id)
        .only("endpoint", "way", "agent_id")
    )
    busy = _playing(gateways).union(*(programs.held(_called(check, gateways)) for check in others))
    if not busy.isdisjoint(programs.free_for(job.keys)):
        return False
    runs.called_program_keys[job.check_id] = job.keys
    return True


def overtaken(jobs: Iterable[Job], now: datetime | None = None) -> set[UUID]:
    """READ: the ids of running checks and practice matches that give way: their agent is due in a match.

    A practice match also gives way to a check that waits for its address, and to that of another person
    (:func:`matches.checks.turns.crowding`). Every check gives way when the league of its agent begins: it would go on
    to announce a round, and send a table, beside those of the league.
    """
    now, jobs = now or clock.now(), list(jobs)
    of_begun = _of_begun([job for job in jobs if not job.in_play])
    yielding = [job for job in jobs if job.gives_way]
    if not yielding:
        return of_begun
    practices = [job.check_id for job in yielding if job.opponent]
    gateways = programs.gateways()
    playing = _playing(gateways)
    waited_for: set[UUID] = set()
    if practices:
        due = Check.checks_and_practices.filter(state=CheckState.WANTED, due_at__lte=now)
        checks, others = due.filter(opponent=""), due.exclude(opponent="")
        addresses = Check.practices.filter(pk__in=practices, address__in=checks.values("address"))
        waited_for = set(addresses.values_list("pk", flat=True))
        waiting = [check for check, _target, _behind in _startable(others, playing, gateways, now)]
        waited_for |= set(crowding(waiting, now)).intersection(practices)
    called = {
        job.check_id: runs.called_program_keys.get(job.check_id, frozenset())
        | ({programs.oneself(job.agent)} if job.agent is not None else frozenset())
        for job in yielding
    }
    return (
        of_begun
        | waited_for
        | {check_id for check_id, keys in called.items() if not playing.isdisjoint(programs.free_for(keys))}
    )


def _of_begun(before: Sequence[Job]) -> set[UUID]:
    """The ids of checks whose agent, or another one at its address, is in a league that has begun meanwhile."""
    if not before:
        return set()
    running = League.objects.filter(pk__in={job.league_id for job in before}, state=LeagueState.RUNNING)
    begun = set(running.values_list("pk", flat=True))
    checks = Check.checks_and_practices.filter(pk__in=[job.check_id for job in before])
    keys = dict(checks.values_list("pk", "endpoint_key"))
    there = Agent.objects.filter(
        kind=Kind.PLAYER, endpoint_key__in=set(keys.values()), league__state=LeagueState.RUNNING
    )
    playing = set(there.values_list("endpoint_key", flat=True))
    return {job.check_id for job in before if job.league_id in begun or keys.get(job.check_id) in playing}


def _playing(gateways: frozenset[str]) -> set[str]:
    """The keys of programs and players that play, or are about to."""
    playing: set[str] = set()
    for match in Match.objects.filter(state__in=[MatchState.READY, *IN_PLAY]).select_related("player_a", "player_b"):
        for seat in (match.player_a, match.player_b):
            found = None if seat.program else programs.find(seat.endpoint, gateways, nudge)
            playing |= programs.taken(seat, programs.known(seat, gateways) if found is None else found.keys)
    return playing


def _is_demanded(check: Check, leagues: Collection[str]) -> bool:
    """Whether a league waits for this check, even if the student asked for it first."""
    agent = check.agent
    if check.is_practice:
        return False
    return check.asked_by == "" or (agent is not None and agent.kind == check.role and agent.league_id in leagues)


def _job(check: Check, keys: frozenset[str], gateways: frozenset[str]) -> Job:
    agent = check.agent
    games = tuple(check.game_types)
    job = Job(check.pk, check.runs + 1, check.role, check.endpoint, games, asked_by=check.asked_by)
    at_address = Agent.objects.filter(kind=Kind.PLAYER, endpoint_key=check.endpoint_key)
    job = replace(job, in_play=at_address.filter(league__state=LeagueState.RUNNING).exists())
    job = replace(job, opponent=check.opponent, second=check.second)
    if agent is None or agent.kind != check.role:
        return job
    if check.is_practice:
        if not ways.is_line(check.way) and seats.is_shared(agent, keys, gateways):
            job = replace(job, shown_by=_digests({agent.pk}))
    elif agent.kind == Kind.PLAYER and not ways.is_line(check.way):
        agent = seats.who_is_at(agent)
    league = agent.league or League.objects.filter(pk=agent.promised_league_id).first()
    if ways.is_line(check.way):
        job = replace(job, agent=agent.pk, seen_from=agent.registered_from)
    return replace(
        job,
        player_id=agent.code,
        learns_for=(agent.pk, agent.registration),
        league_id=agent.league_id or agent.promised_league_id,
        league_token=credentials.league_token(agent),
        dialect=agent.dialect,
        ready_in=agent.spoken.get(READY, ""),
        tokens=_tokens(check, agent),
        own_tokens=_digests(_may_name_no_match(check, agent)),
        rules=league.rules if league is not None else LeagueSettings(),
        in_play=job.in_play or bool(job.shown_by) or (league is not None and league.state == LeagueState.RUNNING),
    )


def _tokens(check: Check, agent: Agent) -> frozenset[str]:
    """The digests of the tokens of all agents at the same address: a check is about the program that listens there.

    Over a line, and in a practice match, those of this agent alone.
    """
    agents = {agent.pk}
    if not ways.is_line(check.way) and not check.is_practice:
        agents.update(Agent.objects.filter(endpoint_key=check.endpoint_key).values_list("pk", flat=True))
    return _digests(agents)


def _may_name_no_match(check: Check, agent: Agent) -> set[int]:
    known = relaying.may_name_no_match(check)
    return known & {agent.pk} if check.is_practice else known


def _digests(agents: Collection[int]) -> frozenset[str]:
    return frozenset(digest for known in credentials.token_digests(agents).values() for digest in known)


def _claim(check: Check, target: Target, now: datetime) -> bool:
    """Take a check that was waiting, by the way that was found for it; false if another process has taken it."""
    timeout_s = PRACTICE_CLAIM_TIMEOUT_S if check.is_practice else CLAIM_TIMEOUT_S
    try:
        with transaction.atomic():
            is_claimed = Check.checks_and_practices.filter(
                pk=check.pk, state=CheckState.WANTED, runs=check.runs
            ).update(
                state=CheckState.RUNNING,
                problem="",
                endpoint=target.endpoint,
                endpoint_key=target.key,
                address=target.address,
                way=target.way,
                runs=F("runs") + 1,
                report={},
                started_at=now,
                claimed_until=now + timedelta(seconds=timeout_s),
            )
            if is_claimed:
                check.endpoint, check.endpoint_key, check.way = target.endpoint, target.key, target.way
                check.address = target.address
                runs.changed(check)
            return bool(is_claimed)
    except IntegrityError:
        # Another conductor has just begun with this address.
        return False
