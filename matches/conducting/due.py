"""One look at the rows: do what is due in the database, and plan what has to go out.

Everything follows from the present rows, so a look may be repeated, skipped, or interrupted at any moment.
All writes are verbs of ``matches.league`` and of ``agents_registry.addresses.programs``.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from agents_registry.addresses import programs
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.conducting import choosing, outgoing
from matches.conducting.outgoing import Ping, Start
from matches.conducting.parcels import Parcel, parcels_of
from matches.league import demo, endings, holds, lifecycle, losses, making, outbox, planned, play, results
from matches.league.errors import ActionRefused
from matches.models import League, Match, Round
from matches.push import nudge
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
        more: look again at once: a round was opened or started and nothing goes out, or a schedule is being made.
        waiting: matches wait for room at a referee, or for a player that is in another match.
    """

    starts: list[Start] = field(default_factory=list)
    parcels: dict[int, list[Parcel]] = field(default_factory=dict)
    pings: list[Ping] = field(default_factory=list)
    made_at: float = field(default_factory=time.monotonic, compare=False)
    more: bool = False
    waiting: bool = False


def look(*, busy_agents: Collection[int], draining: bool, quick: bool = False, again: bool = False) -> Plan:
    """Do what is due and plan what has to go out.

    Args:
        busy_agents: agents that a message is being sent to; they get no other one.
        draining: start no round and no match.
        quick: leave leases, the demo, held matches and planned starts, all due by time alone, to the next tick.
        again: also send the starts of matches without progress once more. The conductor that assigned them may have
            been killed before it sent them; our referees take a start twice without harm.
    """
    now = timezone.now()
    if not quick:
        losses.expire_leases(now=now)
        demo.start_or_restart(now=now)
        _end_holds(now)
        if not draining:
            holds.retry_held(now=now)
            planned.begin_due(now)
    moved = _move_rounds(now, draining)
    making_more = not draining and making.write_pieces()
    plan = Plan()
    if not draining:
        if again:
            programs.fill()
        resent = choosing.assigned_before() if again else []
        plan.starts, plan.waiting = choosing.dispatch()
        plan.starts[:0] = [*resent, *choosing.assign_tellers()]
    plan.parcels = parcels_of(busy_agents, now)
    plan.more = making_more or (moved and not (plan.starts or plan.parcels))
    # Also in a quick look: a person has just clicked and waits for the answers.
    plan.pings = outgoing.pings({*busy_agents, *plan.parcels})
    return plan


def _move_rounds(now: datetime, draining: bool) -> bool:
    """Open, close and start rounds; returns whether one was opened or started."""
    in_round = set()
    moved = False
    for active in _ACTIVE.all():
        in_round.add(active.league_id)
        if active.state == RoundState.ANNOUNCING:
            waited = active.started_at is None or now - active.started_at >= timedelta(
                seconds=active.league.rules.announce_wait_s
            )
            if not active.league.paused and (waited or outbox.announced(active.league_id, active.number)):
                with nudge.suppressed():
                    moved |= lifecycle.open_round(round_pk=active.pk)
        elif endings.close_round_if_done(active):
            in_round.discard(active.league_id)
    if draining:
        return moved
    for league in _UNDER_WAY.all():
        if league.pk in in_round or not league.rules.auto_advance:
            continue
        try:
            with nudge.suppressed():
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
            why = str(note(Code.HELD_TOO_LONG, limit=f"{limit:g}", count=play.MAX_LOST_ATTEMPTS))
            # Refused if the instructor has just released the match.
            with suppress(ActionRefused):
                held = (MatchState.HELD,)
                results.cancel(league_id=match.league_id, match_id=match.match_id, why=why, states=held)
