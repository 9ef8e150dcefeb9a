"""Apply corrections: the instructor changes results, with a reason, wholly or not at all, and can undo that.

Each verb changes rows by compare-and-swap, keeps their earlier values in a :class:`Correction`, records the event
``corrected`` or ``correction_undone`` with the new values, and tells browsers.
It tells the players by LEAGUE_STANDINGS_UPDATE (or LEAGUE_COMPLETED, if it ends the league; both, if it changes who has
won one that is over), unless the board is frozen, or the league has not begun or was stopped. A player that it takes
out is told, too. Nothing is ever deleted. All of it is our choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind
from agents_registry.registering import registration
from league_sdk.ledger.kinds import CORRECTIONS
from league_sdk.protocol.states import IN_PLAY, OPEN, AgentState, LeagueState, MatchState
from league_sdk.rules.draws import commitment
from matches.league import endings
from matches.league.corrections import plans, queries
from matches.league.corrections.plans import Change, Plan, Wish, checked_reason
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, HasChanged
from matches.league.leagues import get_league
from matches.league.play import fresh_seed, lifecycle_step
from matches.models import Correction, League, Match, Round
from matches.view import sight
from matches.view.sight import View
from matches.view.summaries import champions_of
from storage import clock
from storage.prepared import swap

MAX_MATCHES_UNPREPARED = 20_000
"""In a league with more matches nothing is computed while its row is held: that takes seconds, in which every report of
a referee would wait."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What is computed before the transaction of a correction, as in a large league it takes long.

    Attributes:
        after: the league as it would be after the plan; its ``league`` is the row that the plan was made from.
    """

    plan: Plan
    after: View


def ready_to_make(*, league_id: str, wish: Wish, fingerprint: str | None = None) -> Ready:
    """Compute outside a transaction what :func:`make` needs; raises what it raises."""
    league = get_league(league_id)
    return _ready(league, _planned(league, wish), fingerprint)


def ready_to_undo(*, league_id: str, number: int, reason: str, fingerprint: str | None = None) -> Ready:
    """Compute outside a transaction what :func:`undo` needs; raises what it raises."""
    league = get_league(league_id)
    return _ready(league, queries.plan_to_undo(league, number, checked_reason(reason)), fingerprint)


def _ready(league: League, plan: Plan, fingerprint: str | None) -> Ready:
    _refuse_if_changed(plan, fingerprint)
    after = queries.foreseen(sight.everything(league), plan)
    # The view keeps its table: read it now, so that nobody waits for it in the transaction.
    _table = after.standings
    return Ready(plan, after)


def _planned(league: League, wish: Wish) -> Plan:
    return queries.plan_for(league, replace(wish, reason=checked_reason(wish.reason)))


def _present(league_id: str, ready: Ready | None) -> League:
    """The league as it is now, inside the transaction; the row that the view of what is ready has, brought up to date.

    Raises:
        NotFound: no such league.
        HasChanged: an event was recorded since the plan was made; everything that a plan is made from is recorded, but
            for the states of the matches, which are compared when they are written.
        ActionRefused: nothing was prepared, and the league is too large to do all of it now.
    """
    league = get_league(league_id)
    if ready is None:
        if league.matches.count() > MAX_MATCHES_UNPREPARED:
            raise ActionRefused(
                _("Results keep coming while this is worked out. Pause the league until it is done, then try again.")
            )
        return league
    if league.event_seq != ready.after.league.event_seq:
        raise HasChanged
    ready.after.league.refresh_from_db()
    return ready.after.league


@transaction.atomic
def make(
    *, league_id: str, wish: Wish, by: str, fingerprint: str | None = None, ready: Ready | None = None
) -> Correction:
    """Carry out a correction.

    Args:
        by: the user name of the instructor.
        fingerprint: the fingerprint of the preview that was confirmed; None if there was no preview.
        ready: of :func:`ready_to_make`; None: everything is computed inside the transaction.

    Raises:
        NotFound: no such league.
        Invalid: something asked for is not usable; names the field.
        ActionRefused: it cannot be done as things stand.
        HasChanged: the league has changed since it was shown or planned.
    """
    league = _present(league_id, ready)
    plan = ready.plan if ready is not None else _planned(league, wish)
    _refuse_if_changed(plan, fingerprint)
    player = league.agents.filter(kind=Kind.PLAYER, code=plan.player_id).first() if plan.player_id else None
    correction = Correction(
        league=league,
        number=plan.number,
        kind=plan.kind,
        match_id=plan.match_id,
        player=player,
        points=plan.points.get(plan.player_id, 0),
        matches_become=plan.matches_become,
        reason=plan.reason,
        before=_before(league, plan, player),
        after={
            "players": list(plan.players),
            "matches": {change.match.match_id: change.outcome for change in plan.changes},
        },
        made_by=by[: Correction._meta.get_field("made_by").max_length],
        made_at=clock.now(),
    )
    try:
        with transaction.atomic():
            correction.save(force_insert=True)
    except IntegrityError:
        # Another correction has taken this number meanwhile.
        raise HasChanged from None
    _apply(league, plan, ready)
    return correction


@transaction.atomic
def undo(
    *,
    league_id: str,
    number: int,
    reason: str,
    by: str,
    fingerprint: str | None = None,
    ready: Ready | None = None,
) -> Correction:
    """Put back the results, points and players that a correction changed.

    A match that was played again has its old result again; one that was open when the correction decided it is played
    from the beginning.

    Args:
        ready: of :func:`ready_to_undo`; None: everything is computed inside the transaction.

    Raises:
        NotFound: no such league or correction.
        Invalid: the reason is not usable.
        ActionRefused: it is undone already, or a later one has to be undone first.
        HasChanged: the league has changed since it was shown or planned.
    """
    league = _present(league_id, ready)
    plan = ready.plan if ready is not None else queries.plan_to_undo(league, number, checked_reason(reason))
    _refuse_if_changed(plan, fingerprint)
    correction = Correction.objects.select_related("player").get(league=league, number=number)
    # If a match was played since the correction, as after a replay, keep that result in the correction.
    played = {change.match.match_id: change.known.outcome for change in plan.changes}
    moved = Correction.objects.filter(pk=correction.pk, undone_at__isnull=True).update(
        undone_by=by[: Correction._meta.get_field("undone_by").max_length],
        undone_at=clock.now(),
        undone_reason=plan.reason,
        after=correction.after | {"taken_back": played},
    )
    if not moved:
        raise HasChanged
    _apply(league, plan, ready)
    _bring_back(league, correction)
    correction.refresh_from_db()
    return correction


def _refuse_if_changed(plan: Plan, fingerprint: str | None) -> None:
    if fingerprint is not None and fingerprint != plan.fingerprint:
        raise HasChanged


def _before(league: League, plan: Plan, player: Agent | None) -> dict[str, Any]:
    return {
        "matches": {
            change.match.match_id: {
                "state": change.match.state,
                "attempt": change.match.attempt,
                # The other columns follow from the outcome; earlier versions stored all of them.
                "columns": {"finished_at": change.match.finished_at and change.match.finished_at.isoformat()},
                "outcome": change.known.outcome,
            }
            for change in plan.changes
        },
        "out": {code: league.out.get(code) for code in plan.out},
        "agent_state": player.state if player is not None else "",
    }


def _apply(league: League, plan: Plan, ready: Ready | None) -> None:
    """Write a plan: its rows and its event, and what follows from them."""
    now = clock.now()
    rows = {
        match.match_id: match
        for match in Match.objects.filter(pk__in=[change.match.pk for change in plan.changes])
        .select_related("round", "player_a", "player_b")
        .select_for_update(of=("self",), no_key=True)
        .order_by("pk")
    }
    for change in plan.changes:
        _write(rows[change.match.match_id], change, now)
    _lock_league(league, plan, exactly=ready is not None)
    after = ready.after if ready is not None else queries.foreseen(sight.everything(league), plan)
    registration.retire(agent_ids=_players(league, plan.gone))
    called = {code for change in plan.reopened for code in change.match.player_ids}.difference(league.out)
    registration.bring_back(agent_ids=_players(league, called))
    registration.activate(agent_ids=_players(league, called))
    data = plan.data(now)
    if league.state == LeagueState.COMPLETED:
        data |= champions_of(after.standings)
    replayed = [rows[change.match.match_id] for change in plan.changes if change.state != MatchState.FINISHED]
    if replayed:
        data["plays"] = {match.match_id: match.play for match in replayed}
        seeds = {match.match_id: match.draw_seed for match in replayed if match.draw_seed}
        data["draw_commitments"] = {match_id: commitment(bytes.fromhex(seed)) for match_id, seed in seeds.items()}
    record(league.pk, plan.event, **data)
    touched = {match.round_id for match in rows.values()}
    word = "undone" if plan.undo else "made"
    rounds = list(Round.objects.filter(pk__in=touched))
    endings.after_correction(after, rounds, tag=f"correction-{plan.number}-{word}", gone=plan.gone)
    changed(league.pk, *rows)


def _lock_league(league: League, plan: Plan, *, exactly: bool) -> None:
    """Write which players are out. This locks the league's row until the commit; like a report, after the match's row.

    On PostgreSQL another transaction may commit between making the plan and writing it. The rows of the plan's matches
    do not show all of what it may have changed: refuse the rest here.

    Args:
        exactly: whether any event that was recorded meanwhile is refused: the table of the plan would lack it.

    Raises:
        HasChanged: the league's state has changed, another correction was made, or a match of a player taken out was
            started.
    """
    out = {code: entry for code, entry in {**league.out, **plan.out}.items() if entry is not None}
    same = {"state": league.state} | ({"event_seq": league.event_seq} if exactly else {})
    same_state = League.objects.filter(pk=league.pk, **same).update(out=out)
    new_corrections = league.events.filter(seq__gt=league.event_seq, kind__in=CORRECTIONS)
    # A player that was out before is not called: an open match of it is decided without a call.
    leaving = [code for code in plan.gone if code not in league.out]
    of_leaving = Q(player_a__code__in=leaving) | Q(player_b__code__in=leaving)
    started = Match.objects.filter(of_leaving, round__league=league, state__in=OPEN)
    if not same_state or new_corrections.exists() or (leaving and started.exists()):
        raise HasChanged
    league.out = out


_NO_OUTCOME: dict[str, Any] = {"status": "", "winner_id": None, "reason": "", "details": {}, "faults": []}


def _write(match: Match, change: Change, now: datetime) -> None:
    """Write one match as the plan has it, if the row is still as the plan found it.

    Raises:
        HasChanged: it has changed since.
    """
    known = change.match
    outcome = change.outcome or _NO_OUTCOME
    codes = {match.player_a.code: match.player_a_id, match.player_b.code: match.player_b_id}
    finished = change.state == MatchState.FINISHED
    values: dict[str, Any] = {
        "state": change.state,
        "status": outcome["status"],
        "winner_id": codes.get(outcome["winner_id"]),
        "reason": outcome["reason"],
        "details": outcome["details"],
        "faults": outcome["faults"],
        "finished_at": (change.finished_at or now) if finished else None,
        "lease_until": None,
        "held_at": now if change.state == MatchState.HELD else None,
        "locked_in": [],
    }
    if not finished:
        values |= {
            "lost_attempts": 0,
            "joined": [],
            "view": {},
            "seal": None,
            "moves": [],
            "excused": [],
            "unreached": None,
        }
        # The seed was revealed with the result: make a new one.
        values |= {"play": match.play + 1, "draw_seed": fresh_seed() if match.draw_seed else ""}
    if known.state != change.state:
        values["lifecycle"] = [*match.lifecycle, lifecycle_step(change.state, now)]
    # A plan holds for any state of a match in play.
    states = IN_PLAY if known.state in IN_PLAY else (known.state,)
    unsealed = {"seal": None} if known.state in IN_PLAY else {}
    if not swap(Match, values, pk=match.pk, state=states, attempt=known.attempt, status=known.status, **unsealed):
        raise HasChanged
    if not finished:
        match.play, match.draw_seed = values["play"], values["draw_seed"]


def _bring_back(league: League, correction: Correction) -> None:
    """Let a player that is back in the league be called again, unless it was shut down before it was taken out.

    A player whose match is open again is called all the same (:func:`_apply`).
    """
    if correction.kind not in (plans.WITHDRAW, plans.DISQUALIFY) or correction.player is None:
        return
    was_called = correction.before["agent_state"] != AgentState.SHUTDOWN
    if was_called and correction.player.code not in league.out and league.state in _GOING:
        registration.bring_back(agent_ids=[correction.player.pk])
        if league.state == LeagueState.RUNNING:
            registration.activate(agent_ids=[correction.player.pk])


_GOING = (LeagueState.SCHEDULED, LeagueState.RUNNING)


def _players(league: League, codes: Any) -> list[int]:
    return list(league.agents.filter(kind=Kind.PLAYER, code__in=list(codes)).values_list("pk", flat=True))
