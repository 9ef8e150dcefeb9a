"""One look at the rows: do what is due in the database, and plan what has to go out.

Everything follows from the present rows, so a look may be repeated, skipped, or interrupted at any moment.
All writes are verbs of ``matches.league`` and of ``agents_registry.addresses.programs``.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.conducting import choosing, outgoing
from matches.conducting.outgoing import Ping, Start
from matches.conducting.parcels import Parcel, parcels_of
from matches.league import (
    demo,
    endings,
    holds,
    lifecycle,
    losses,
    making,
    moves,
    outbox,
    planned,
    play,
    removing,
    results,
)
from matches.league.conductors import WHOLE, Duty
from matches.league.errors import ActionRefused
from matches.models import League, Match, Round
from matches.push import nudge
from storage import clock
from storage.prepared import Prepared

_ACTIVE = Prepared(
    lambda: Round.objects.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).select_related("league")
)
_UNDER_WAY = Prepared(
    lambda: League.objects.filter(state=LeagueState.RUNNING, paused=False).order_by("demo", "created_at")
)


@dataclass(slots=True)
class Plan:
    """What has to go out after a look. The parcels of one agent are sent in their order, agents in parallel.

    Attributes:
        made_at: when the rows were read, in monotonic seconds.
        more: look again at once: a round was opened or started and nothing goes out.
        pieces: look again soon: of a schedule that is being made, or of a league that is being deleted, more is left.
        waiting: matches wait for room at a referee, or for a player that is in another match.
    """

    starts: list[Start] = field(default_factory=list)
    parcels: dict[int, list[Parcel]] = field(default_factory=dict)
    pings: list[Ping] = field(default_factory=list)
    made_at: float = field(default_factory=time.monotonic, compare=False)
    more: bool = False
    pieces: bool = False
    waiting: bool = False


def look(
    *,
    busy_agents: Collection[int],
    draining: bool,
    quick: bool = False,
    again: bool = False,
    pieces: bool = True,
    duty: Duty = WHOLE,
) -> Plan:
    """Do what is due and plan what has to go out.

    Args:
        busy_agents: agents that a message is being sent to; they get no other one.
        draining: start no round and no match.
        quick: leave leases, the demo, held matches and planned starts, all due by time alone, to the next tick.
        again: also send the starts of matches without progress once more. The conductor that assigned them may have
            been killed before it sent them; our referees take a start twice without harm.
        pieces: write the next piece of each schedule that is being made, and delete that of each hidden league.
        duty: what is this conductor's: the rounds and messages of its leagues, and perhaps what concerns all leagues.
    """
    now = clock.now()
    leads = duty.leads
    if leads and not quick:
        losses.expire_leases(now=now)
        demo.start_or_restart(now=now)
        _end_holds(now)
        if not draining:
            holds.retry_held(now=now)
            planned.begin_due(now)
    moved = _move_rounds(now, draining, duty)
    plan = Plan()
    if leads and pieces and not draining:
        plan.pieces = bool(making.write_pieces() + removing.remove_pieces())
    moving = moves.settle() if leads else []
    if leads and not draining:
        resent = choosing.assigned_before() if again else []
        plan.starts, plan.waiting = choosing.dispatch()
        plan.starts[:0] = [*resent, *choosing.assign_tellers()]
    plan.parcels = parcels_of(busy_agents, now, duty)
    plan.more = moved and not (plan.starts or plan.parcels)
    # Also in a quick look: a person has just clicked and waits for the answers.
    plan.pings = outgoing.pings({*busy_agents, *plan.parcels}, moving, duty)
    return plan


def _move_rounds(now: datetime, draining: bool, duty: Duty) -> bool:
    """Open, close and start rounds of a conductor's leagues; returns whether one was opened or started."""
    in_round = set()
    moved = False
    # This look also assigns the matches of a round that begins, or another conductor is to be woken for that.
    assigns_here = nudge.suppressed if duty.leads else nullcontext
    for active in _ACTIVE.all():
        in_round.add(active.league_id)
        if not duty.has(active.league_id):
            continue
        if active.state == RoundState.ANNOUNCING:
            waited = active.started_at is None or now - active.started_at >= timedelta(
                seconds=active.league.rules.announce_wait_s
            )
            if not active.league.paused and (waited or outbox.announced(active.league_id, active.number)):
                with assigns_here():
                    moved |= lifecycle.open_round(round_pk=active.pk)
        elif endings.close_round_if_done(active):
            in_round.discard(active.league_id)
    if draining:
        return moved
    for league in _UNDER_WAY.all():
        if league.pk in in_round or not league.runs_all:
            continue
        try:
            with assigns_here():
                lifecycle.start_round(league_id=league.pk, by_itself=True)
        except ActionRefused:
            # No referee for now, or a click came first: the next look tries again.
            continue
        moved = True
    return moved


def _end_holds(now: datetime) -> None:
    for match in Match.objects.filter(state=MatchState.HELD).select_related("league"):
        limit = match.league.rules.hold_s
        if limit is not None and match.held_at is not None and now - match.held_at >= timedelta(seconds=limit):
            why = str(note(Code.HELD_TOO_LONG, limit=f"{limit:g}", count=play.MAX_LOST_ATTEMPTS))
            # Refused if the instructor has just released the match.
            with suppress(ActionRefused):
                held = (MatchState.HELD,)
                results.cancel(league_id=match.league_id, match_id=match.match_id, why=why, states=held)
