"""Apply corrections: the instructor changes results, with a reason, wholly or not at all, and can undo that.

Each verb changes rows by compare-and-swap, keeps their earlier values in a :class:`Correction`, records the event
``corrected`` or ``correction_undone`` with the new values, and tells browsers. It tells the players by
LEAGUE_STANDINGS_UPDATE (or LEAGUE_COMPLETED, if it ends the league), unless the board is frozen, or the league has not
begun or was stopped. Nothing is ever deleted. All of it is our choice.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind
from agents_registry.registering import registration
from league_sdk.ledger.kinds import CORRECTIONS
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState
from league_sdk.rules.draws import commitment
from matches.league import endings
from matches.league.corrections import plans, queries
from matches.league.corrections.plans import Change, Plan, Wish, checked_reason
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.league.leagues import get_league
from matches.league.play import fresh_seed, lifecycle_step
from matches.models import Correction, League, Match, Round
from matches.view.summaries import champions_of


class HasChanged(ActionRefused):
    """The league has changed since the correction was shown or planned."""

    def __init__(self) -> None:
        super().__init__(_("The league has changed since this was shown: look again, then confirm."))


def make(*, league_id: str, wish: Wish, by: str, fingerprint: str | None = None) -> Correction:
    """Carry out a correction.

    Args:
        by: the user name of the instructor.
        fingerprint: the fingerprint of the preview that was confirmed; None if there was no preview.

    Raises:
        NotFound: no such league.
        Invalid: something asked for is not usable; names the field.
        ActionRefused: it cannot be done as things stand.
        HasChanged: the league has changed since it was shown or planned.
    """
    with transaction.atomic():
        league = get_league(league_id)
        reason = checked_reason(wish.reason)
        plan = queries.plan_for(league, replace(wish, reason=reason))
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
            reason=reason,
            before=_before(league, plan, player),
            after={
                "players": list(plan.players),
                "matches": {change.match.match_id: change.outcome for change in plan.changes},
            },
            made_by=by[: Correction._meta.get_field("made_by").max_length],
            made_at=timezone.now(),
        )
        try:
            with transaction.atomic():
                correction.save(force_insert=True)
        except IntegrityError:
            # Another correction has taken this number meanwhile.
            raise HasChanged from None
        _apply(league, plan)
        return correction


def undo(*, league_id: str, number: int, reason: str, by: str, fingerprint: str | None = None) -> Correction:
    """Put back the results, points and players that a correction changed.

    A match that was played again has its old result again; one that was open when the correction decided it is played
    from the beginning.

    Raises:
        NotFound: no such league or correction.
        Invalid: the reason is not usable.
        ActionRefused: it is undone already, or a later one has to be undone first.
        HasChanged: the league has changed since it was shown or planned.
    """
    with transaction.atomic():
        league = get_league(league_id)
        plan = queries.plan_to_undo(league, number, checked_reason(reason))
        _refuse_if_changed(plan, fingerprint)
        correction = Correction.objects.select_related("player").get(league=league, number=number)
        # If a match was played since the correction, as after a replay, keep that result in the correction.
        played = {change.match.match_id: change.known.outcome for change in plan.changes}
        moved = Correction.objects.filter(pk=correction.pk, undone_at__isnull=True).update(
            undone_by=by[: Correction._meta.get_field("undone_by").max_length],
            undone_at=timezone.now(),
            undone_reason=plan.reason,
            after=correction.after | {"taken_back": played},
        )
        if not moved:
            raise HasChanged
        _apply(league, plan)
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


def _apply(league: League, plan: Plan) -> None:
    """Write a plan: its rows and its event, and what follows from them."""
    now = timezone.now()
    rows = {
        match.match_id: match
        for match in Match.objects.filter(pk__in=[change.match.pk for change in plan.changes])
        .select_related("round", "player_a", "player_b")
        .select_for_update(of=("self",), no_key=True)
        .order_by("pk")
    }
    for change in plan.changes:
        _write(rows[change.match.match_id], change, now)
    _lock_league(league, plan)
    registration.retire(agent_ids=_players(league, plan.gone))
    called = {code for change in plan.reopened for code in change.match.player_ids}.difference(league.out)
    registration.bring_back(agent_ids=_players(league, called))
    registration.activate(agent_ids=_players(league, called))
    data = plan.data()
    if league.state == LeagueState.COMPLETED:
        data |= champions_of(queries.standings_after(league, plan))
    replayed = [rows[change.match.match_id] for change in plan.changes if change.state != MatchState.FINISHED]
    if replayed:
        data["plays"] = {match.match_id: match.play for match in replayed}
        seeds = {match.match_id: match.draw_seed for match in replayed if match.draw_seed}
        data["draw_commitments"] = {match_id: commitment(bytes.fromhex(seed)) for match_id, seed in seeds.items()}
    record(league.pk, plan.event, **data)
    touched = {match.round_id for match in rows.values()}
    word = "undone" if plan.undo else "made"
    endings.after_correction(league, list(Round.objects.filter(pk__in=touched)), tag=f"correction-{plan.number}-{word}")
    changed(league.pk, *rows)


def _lock_league(league: League, plan: Plan) -> None:
    """Write which players are out. This locks the league's row until the commit; like a report, after the match's row.

    On PostgreSQL another transaction may commit between making the plan and writing it. The rows of the plan's matches
    do not show all of what it may have changed: refuse the rest here.

    Raises:
        HasChanged: the league's state has changed, another correction was made, or a match of a player taken out was
            started.
    """
    out = {code: entry for code, entry in {**league.out, **plan.out}.items() if entry is not None}
    same_state = League.objects.filter(pk=league.pk, state=league.state).update(out=out)
    new_corrections = league.events.filter(seq__gt=league.event_seq, kind__in=CORRECTIONS)
    # A player that was out before is not called: an open match of it is decided without a call.
    leaving = [code for code in plan.gone if code not in league.out]
    of_leaving = Q(player_a__code__in=leaving) | Q(player_b__code__in=leaving)
    started = league.matches.filter(of_leaving, state__in=plans.OPEN)
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
    codes = {match.player_a.code: match.player_a, match.player_b.code: match.player_b}
    finished = change.state == MatchState.FINISHED
    values: dict[str, Any] = {
        "state": change.state,
        "status": outcome["status"],
        "winner": codes.get(outcome["winner_id"]),
        "reason": outcome["reason"],
        "details": outcome["details"],
        "faults": outcome["faults"],
        "finished_at": (change.finished_at or now) if finished else None,
        "lease_until": None,
        "held_at": now if change.state == MatchState.HELD else None,
        "locked_in": [],
    }
    if not finished:
        values |= {"lost_attempts": 0, "joined": [], "view": {}, "seal": None, "moves": [], "excused": []}
        # The seed was revealed with the result: make a new one.
        values |= {"play": match.play + 1, "draw_seed": fresh_seed() if match.draw_seed else ""}
    if known.state != change.state:
        values["lifecycle"] = [*match.lifecycle, lifecycle_step(change.state, now)]
    # A plan holds for any state of a match in play.
    states = IN_PLAY if known.state in IN_PLAY else [known.state]
    same = Match.objects.filter(pk=match.pk, state__in=states, attempt=known.attempt, status=known.status)
    if known.state in IN_PLAY:
        same = same.filter(seal__isnull=True)
    if not same.update(**values):
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
