"""Corrections: the instructor changes what counts, with a reason, whole or not at all, and can undo it.

Each verb changes rows by compare-and-swap, keeps what was there before in a :class:`Correction`, records the event
``corrected`` or ``correction_undone`` with what holds from then on, and lets everybody know: browsers, and agents by
LEAGUE_STANDINGS_UPDATE unless the board is frozen. Nothing is ever deleted. All of it is our choice.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import registration
from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import CORRECTIONS
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState
from league_sdk.rules.draws import commitment
from matches.league import endings
from matches.league.corrections import plans, queries
from matches.league.corrections.plans import Change, Plan, Wish, checked_reason
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.league.find import get_league
from matches.league.play import fresh_seed, lifecycle_step
from matches.models import Correction, League, Match, Round
from matches.view.summaries import champion_of


class LookAgain(ActionRefused):
    """What would be done is not what was shown: someone or something came between."""

    def __init__(self) -> None:
        super().__init__(_("The league has moved on since this was shown: look again, then confirm."))


def make(*, league_id: str, wish: Wish, by: str, fingerprint: str | None = None) -> Correction:
    """Carry out a correction.

    Args:
        by: the user name of whoever decided it.
        fingerprint: that of the preview that was confirmed; None when nobody looked at one.

    Raises:
        NotFound: no such league.
        Invalid: something asked for is not usable; names the field.
        ActionRefused: it cannot be done as things stand.
        LookAgain: it would not do what was shown.
    """
    with transaction.atomic():
        league = get_league(league_id)
        reason = checked_reason(wish.reason)
        plan = queries.plan_for(league, replace(wish, reason=reason))
        _same_as_shown(plan, fingerprint)
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
                "matches": {change.known.match_id: change.outcome for change in plan.changes},
            },
            made_by=by[: Correction._meta.get_field("made_by").max_length],
            made_at=timezone.now(),
        )
        try:
            with transaction.atomic():
                correction.save(force_insert=True)
        except IntegrityError:
            # Its number is taken: another correction came first.
            raise LookAgain from None
        _apply(league, plan)
        return correction


def undo(*, league_id: str, number: int, reason: str, by: str, fingerprint: str | None = None) -> Correction:
    """Everything that a correction touched is as it was before it; of a match played again the old result counts.

    Raises:
        NotFound: no such league or correction.
        Invalid: the reason is not usable.
        ActionRefused: it is undone already, or a later one has to be undone first.
        LookAgain: it would not do what was shown.
    """
    with transaction.atomic():
        league = get_league(league_id)
        plan = queries.plan_to_undo(league, number, checked_reason(reason))
        _same_as_shown(plan, fingerprint)
        correction = Correction.objects.select_related("player").get(league=league, number=number)
        # What was played since, as with a match that was played again, stays on this record.
        played = {change.known.match_id: change.known.outcome for change in plan.changes}
        moved = Correction.objects.filter(pk=correction.pk, undone_at__isnull=True).update(
            undone_by=by[: Correction._meta.get_field("undone_by").max_length],
            undone_at=timezone.now(),
            undone_reason=plan.reason,
            after=correction.after | {"taken_back": played},
        )
        if not moved:
            raise LookAgain
        _apply(league, plan)
        _return(league, correction)
        correction.refresh_from_db()
        return correction


def _same_as_shown(plan: Plan, fingerprint: str | None) -> None:
    if fingerprint is not None and fingerprint != plan.fingerprint:
        raise LookAgain


def _before(league: League, plan: Plan, player: Agent | None) -> dict[str, Any]:
    return {
        "matches": {
            change.known.match_id: {
                "state": change.known.state,
                "attempt": change.known.attempt,
                "columns": dict(change.known.columns),
                "outcome": change.known.outcome,
            }
            for change in plan.changes
        },
        "out": {code: league.out.get(code) for code in plan.out},
        "agent_state": player.state if player is not None else "",
    }


def _apply(league: League, plan: Plan) -> None:
    """Write a plan: rows, event, what follows from it."""
    now = timezone.now()
    rows = {
        match.match_id: match
        for match in Match.objects.filter(
            league=league, match_id__in=[change.known.match_id for change in plan.changes]
        )
        .select_related("round", "player_a", "player_b")
        .select_for_update(of=("self",), no_key=True)
        .order_by("pk")
    }
    for change in plan.changes:
        _write(rows[change.known.match_id], change, now)
    _hold(league, plan)
    registration.retire(agent_ids=_players(league, plan.gone))
    called = {code for change in plan.reopened for code in change.known.players}.difference(league.out)
    registration.bring_back(agent_ids=_players(league, called))
    registration.activate(agent_ids=_players(league, called))
    data = plan.data()
    if league.state == LeagueState.COMPLETED:
        first = queries.champion_after(league, plan)
        data["champion"] = champion_of(first) if first is not None else None
    again = [rows[change.known.match_id] for change in plan.changes if change.state != MatchState.FINISHED]
    if again:
        data["plays"] = {match.match_id: match.play for match in again}
        seeds = {match.match_id: match.draw_seed for match in again if match.draw_seed}
        data["draw_commitments"] = {match_id: commitment(bytes.fromhex(seed)) for match_id, seed in seeds.items()}
    record(league.pk, plan.event, **data)
    touched = {match.round_id for match in rows.values()}
    word = "undone" if plan.undo else "made"
    endings.after_correction(league, list(Round.objects.filter(pk__in=touched)), tag=f"correction-{plan.number}-{word}")
    changed(league.pk, *rows)


def _hold(league: League, plan: Plan) -> None:
    """Hold the league's row until the end, as every report does after that of its match, and write who is out.

    What the plan was not about is checked here: PostgreSQL lets others commit between the reading and the writing.

    Raises:
        LookAgain: the league has ended, another correction came between, or somebody taken out was called meanwhile.
    """
    out = {code: entry for code, entry in {**league.out, **plan.out}.items() if entry is not None}
    held = League.objects.filter(pk=league.pk, state=league.state).update(out=out)
    others = league.events.filter(seq__gt=league.event_seq, kind__in=CORRECTIONS)
    # Nobody calls one that was out before: a match of it that is open again is decided without a call.
    gone = [code for code in plan.gone if code not in league.out]
    theirs = Q(player_a__code__in=gone) | Q(player_b__code__in=gone)
    called = league.matches.filter(theirs, state__in=plans.OPEN)
    if not held or others.exists() or (gone and called.exists()):
        raise LookAgain
    league.out = out


def _write(match: Match, change: Change, now: datetime) -> None:
    """One match as the plan has it, if it is still as the plan found it.

    Raises:
        LookAgain: it has changed since.
    """
    known, columns = change.known, change.columns
    codes = {match.player_a.code: match.player_a, match.player_b.code: match.player_b}
    finished = change.state == MatchState.FINISHED
    at = datetime.fromisoformat(columns["finished_at"]) if columns["finished_at"] else now
    news: dict[str, Any] = {
        "state": change.state,
        "status": columns["status"],
        "winner": codes.get(columns["winner"]),
        "reason": columns["reason"],
        "details": columns["details"],
        "faults": columns["faults"],
        "finished_at": at if finished else None,
        "lease_until": None,
        "held_at": now if change.state == MatchState.HELD else None,
        "locked_in": [],
    }
    if not finished:
        news |= {"lost_attempts": 0, "joined": [], "view": {}, "seal": None, "moves": [], "excused": []}
        # What was finished has shown its seed: it is drawn anew.
        news |= {"play": match.play + 1, "draw_seed": fresh_seed() if match.draw_seed else ""}
    if known.state != change.state:
        news["lifecycle"] = [*match.lifecycle, lifecycle_step(change.state, now)]
    # How far a match in play has come makes no difference.
    states = IN_PLAY if known.state in IN_PLAY else [known.state]
    same = Match.objects.filter(pk=match.pk, state__in=states, attempt=known.attempt, status=known.columns["status"])
    if known.state in IN_PLAY:
        same = same.filter(seal__isnull=True)
    if not same.update(**news):
        raise LookAgain
    if not finished:
        match.play, match.draw_seed = news["play"], news["draw_seed"]


def _return(league: League, correction: Correction) -> None:
    """A player that is in the league again is called for the matches to come, if it was before."""
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
