"""One look at the rows: does what is due in the database and says what has to go out.

Level-triggered: everything follows from the rows as they are, so a look may be repeated, skipped
or interrupted anywhere. Writes are the verbs of ``matches.league``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agents_registry import learned, programs, registration
from agents_registry.models import Agent, Kind
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState, RoundState
from matches.checks import runs
from matches.conducting import outgoing
from matches.conducting.outgoing import Check, Chosen, Start
from matches.conducting.parcels import Parcel, parcels_of
from matches.league import demo, endings, holds, lifecycle, losses, making, outbox, planned, play, results
from matches.league.errors import ActionRefused
from matches.models import League, Match, Round
from matches.push import nudge
from matches.view import referees as referee_queries
from storage.prepared import Prepared

_ACTIVE = Prepared(
    lambda: Round.objects.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).select_related("league")
)
_UNDER_WAY = Prepared(
    lambda: League.objects.filter(state=LeagueState.RUNNING, paused=False).order_by("demo", "created_at")
)
MOST_READY = 64
"""Matches that a look reads at first: a round of hundreds waits for referees, and is read again by every look."""


def _ready() -> QuerySet[Match]:
    return (
        Match.objects.filter(
            # A match of a round that is over is played again; it may be the league that is over, which is never paused.
            Q(league__state=LeagueState.RUNNING, league__paused=False) | Q(league__state=LeagueState.COMPLETED),
            state=MatchState.READY,
            round__state__in=[RoundState.RUNNING, RoundState.COMPLETED],
        )
        .select_related("league", "round", "referee", "player_a", "player_b")
        .order_by("league__demo", "pk")
    )


_READY = Prepared(lambda: _ready()[:MOST_READY])
_JUDGING = Prepared(
    lambda: Agent.objects.filter(
        kind=Kind.REFEREE, trusted=True, state__in=[AgentState.REGISTERED, AgentState.ACTIVE]
    ).only("max_concurrent")
)
_IN_PLAY = Prepared(
    lambda: (
        Match.objects.filter(state__in=IN_PLAY)
        .select_related("player_a", "player_b")
        .only("referee_id", "player_a__program", "player_a__endpoint", "player_b__program", "player_b__endpoint")
    )
)


@dataclass(slots=True)
class Plan:
    """What has to go out after a look. Parcels of one agent go in their order, agents in parallel.

    Attributes:
        made_at: when the rows were read, monotonic seconds.
        more: a round moved and nothing goes out, or a schedule is being made: there may be more to do at once.
        waiting: matches wait for room at their referee, or for a player that is in another match.
    """

    starts: list[Start] = field(default_factory=list)
    parcels: dict[int, list[Parcel]] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    made_at: float = field(default_factory=time.monotonic, compare=False)
    more: bool = False
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A start that was not taken; see :func:`matches.league.losses.undeliverable`."""

    match_pk: int
    attempt: int
    lease_until: datetime | None
    problem: str
    refused: bool = False
    cause: Cause = Cause.REFEREE


@dataclass(slots=True)
class Outcomes:
    """What became of what went out.

    Attributes:
        deliveries: (delivery, problem); no problem means settled.
        undeliverable: starts that were not taken, and why.
        checks: (agent, problem).
        learned: (agent, by message type what it was seen to understand).
        freed: agents that nothing is on its way to any more.
    """

    deliveries: list[tuple[int, str]] = field(default_factory=list)
    undeliverable: list[NotTaken] = field(default_factory=list)
    checks: list[tuple[int, str]] = field(default_factory=list)
    learned: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.deliveries or self.undeliverable or self.checks or self.learned)

    def put_before(self, earlier: Outcomes) -> None:
        """Add what could not be written down earlier, before what came since."""
        self.deliveries[:0] = earlier.deliveries
        self.undeliverable[:0] = earlier.undeliverable
        self.checks[:0] = earlier.checks
        self.learned[:0] = earlier.learned
        self.freed[:0] = earlier.freed


def note(outcomes: Outcomes) -> None:
    """Write down what became of what went out, in one transaction."""
    with transaction.atomic():
        for one in outcomes.undeliverable:
            losses.undeliverable(**asdict(one))
        for agent_pk, problem in outcomes.checks:
            registration.note_check(agent_id=agent_pk, problem=problem)
        for agent_pk, spoken in outcomes.learned:
            learned.learn_dialect(agent_id=agent_pk, spoken=spoken)
        # Deliveries last, as in a report that ends a round: in another order both would wait for each other.
        outbox.settle(outcomes.deliveries)


def look(*, busy_agents: Collection[int], draining: bool, quick: bool = False, again: bool = False) -> Plan:
    """Do what is due and plan what has to go out.

    Args:
        busy_agents: agents that something is on its way to; they are left out.
        draining: no round and no match starts any more.
        quick: only what a change makes due; what time makes due can wait for the next tick.
        again: also the starts of matches whose referee has said nothing of them yet. Whoever gave them to it may
            have died, or failed, before they were sent; our referees take one twice without harm.
    """
    now = timezone.now()
    if not quick:
        losses.expire_leases(now=now)
        demo.tend(now=now)
        _end_holds(now)
        if not draining:
            holds.try_again(now=now)
            planned.begin_due(now)
    moved = _move_rounds(now, draining)
    making_more = not draining and making.go_on()
    plan = Plan()
    if not draining:
        if again:
            programs.fill()
        given = _given() if again else []
        plan.starts, plan.waiting = _dispatch()
        plan.starts[:0] = [*given, *_tell_sealed()]
    plan.parcels = parcels_of(busy_agents, now)
    plan.more = making_more or (moved and not (plan.starts or plan.parcels))
    # Also in a quick look: somebody has just clicked, and waits for the answers.
    plan.checks = outgoing.checks({*busy_agents, *plan.parcels})
    return plan


def _move_rounds(now: datetime, draining: bool) -> bool:
    """Open, end and start rounds; whether any was."""
    playing = set()
    moved = False
    for active in _ACTIVE.all():
        playing.add(active.league_id)
        if active.state == RoundState.ANNOUNCING:
            waited = active.started_at is None or now - active.started_at >= timedelta(
                seconds=active.league.rules.announce_wait_s
            )
            if not active.league.paused and (waited or outbox.announced(active.league_id, active.number)):
                with nudge.unheard():
                    moved |= lifecycle.open_round(round_pk=active.pk)
        elif endings.close_round_if_done(active):
            playing.discard(active.league_id)
    if draining:
        return moved
    for league in _UNDER_WAY.all():
        if league.pk in playing or not league.rules.auto_advance:
            continue
        try:
            with nudge.unheard():
                lifecycle.start_round(league_id=league.pk)
        except ActionRefused:
            # No referee for now, or a click came first: the next look tries again.
            continue
        moved = True
    return moved


def _end_holds(now: datetime) -> None:
    for match in Match.objects.filter(state=MatchState.HELD).select_related("league"):
        limit = match.league.rules.hold_s
        if limit is not None and match.held_at is not None and now - match.held_at >= timedelta(seconds=limit):
            why = f"held for {limit:g} s after {play.MAX_LOST_ATTEMPTS} lost referees"
            with suppress(ActionRefused):
                # The instructor has let it be played again in this moment.
                held = (MatchState.HELD,)
                results.cancel(league_id=match.league_id, match_id=match.match_id, why=why, states=held)


def _dispatch() -> tuple[list[Start], bool]:
    """READY matches to their referees, as far as these have room; the demo comes last. And whether any is left."""
    ready = _READY.all()
    if not ready:
        return [], False
    load: Counter[int] = Counter()
    # A program is never in two matches at once, also where it plays in two leagues, or under two addresses.
    playing = runs.occupied()
    gateways = programs.gateways()
    for one in _IN_PLAY.all():
        load[one.referee_id] += 1
        for seat in (one.player_a, one.player_b):
            kept = programs.in_play(seat, gateways, _look_again)
            if kept is None:
                # It may be any program that plays there.
                return [], True
            playing |= kept
    chosen = _choose(ready, load, playing, gateways)
    # While anybody has room, the others must not wait behind matches that cannot begin.
    if len(ready) == MOST_READY and any(load[one.pk] < one.max_concurrent for one in _JUDGING.all()):
        chosen += _choose(_ready(), load, playing, gateways)
    return outgoing.starts_of(chosen), len(chosen) < len(ready) or len(ready) == MOST_READY


_UNTOLD = Prepared(
    lambda: (
        Match.objects.filter(state__in=IN_PLAY, referee__isnull=True, seal__isnull=False)
        .select_related("league", "round", "player_a", "player_b")
        .order_by("pk")
    )
)


def _tell_sealed() -> list[Start]:
    """Matches whose verdict is sealed and whose referee was lost, to one that tells the end; a pause stops none."""
    untold = _UNTOLD.all()
    if not untold:
        return []
    load = Counter[int](one.referee_id for one in _IN_PLAY.all() if one.referee_id is not None)
    chosen = []
    for match in untold:
        # A student's referee is never told a verdict before it counts.
        able = [one for one in outbox.referees_of(match.league) if one.site_key]
        # Whoever sealed it and could not tell it (no sockets left, say) would fail again: another one's turn, if any.
        able = [one for one in able if one.code != match.seal["referee_id"]] or able
        referee = _least_loaded([one for one in able if load[one.pk] < one.max_concurrent], load)
        if referee is None:
            continue
        taken = play.assign_teller(match=match, referee=referee, lease_s=play.lease_s_of(match, referee))
        if taken is not None:
            load[referee.pk] += 1
            chosen.append(Chosen(taken, referee, named=False))
    return outgoing.starts_of(chosen)


def _least_loaded(candidates: Sequence[Agent], load: Counter[int]) -> Agent | None:
    return min(candidates, key=lambda one: load[one.pk] / one.max_concurrent, default=None)


def _given() -> list[Start]:
    """Matches that a referee of ours was given, and has not begun as far as we know; their leases begin anew."""
    given = Match.objects.filter(state=MatchState.ASSIGNED, referee__sends_progress=True)
    whole = given.select_related("league", "round", "referee", "player_a", "player_b").order_by("pk")
    chosen = []
    for match in whole:
        lease_s = play.lease_s_of(match, match.referee)
        match.lease_until = play.renew_lease(match_pk=match.pk, attempt=match.attempt, lease_s=lease_s)
        if match.lease_until is not None:
            chosen.append(Chosen(match, match.referee, named=False, sent_before=True))
    return outgoing.starts_of(chosen)


def _choose(ready: Iterable[Match], load: Counter[int], playing: set[str], gateways: frozenset[str]) -> list[Chosen]:
    """Assign matches in their order to referees that have room; load and who is playing are kept up."""
    referees: dict[str, list[Agent]] = {}
    chosen: list[Chosen] = []
    with transaction.atomic():
        for match in ready:
            seats = (match.player_a, match.player_b)
            found = [programs.found(seat, gateways, _look_again) for seat in seats]
            behind = [one for one in found if one is not None]
            if len(behind) < len(seats):
                continue
            pairs = list(zip(seats, behind, strict=True))
            if any(not playing.isdisjoint(programs.needed(seat, one.keys)) for seat, one in pairs):
                continue
            if results.decide_absent(match):
                endings.after_result(match)
                continue
            if match.league_id not in referees:
                referees[match.league_id] = outbox.referees_of(match.league)
            referee = _referee_for(match, referees[match.league_id], load)
            if referee is None or referee_queries.untold_referee(referee, match):
                continue
            named = match.referee_id == referee.pk and match.attempt == 0
            lease = play.lease_s_of(match, referee)
            taken = play.assign(match=match, referee=referee, lease_s=lease)
            if taken is not None:
                load[referee.pk] += 1
                for seat, one in zip((taken.player_a, taken.player_b), behind, strict=True):
                    programs.note(seat, one)
                    playing |= programs.taken(seat, one.keys)
                chosen.append(Chosen(taken, referee, named))
    return chosen


def _look_again() -> None:
    """A name was looked up: the matches that waited for it are given out in the next look."""
    nudge.wake(urgent=True)


def _referee_for(match: Match, candidates: Sequence[Agent], load: Counter[int]) -> Agent | None:
    """The referee that was announced, if it has room; else, if it is gone, the one with the least to do.

    Whoever lost the match might lose it again: then it is another one's turn, where there is another.
    """
    if match.moves:
        # A student's referee is not told the moves on record, and would begin the game anew.
        candidates = [one for one in candidates if one.site_key]
    if match.lost_attempts:
        candidates = [one for one in candidates if one.pk != match.referee_id] or candidates
    free = [one for one in candidates if load[one.pk] < one.max_concurrent]
    if any(one.pk == match.referee_id for one in candidates):
        return next((one for one in free if one.pk == match.referee_id), None)
    return _least_loaded(free, load)
