"""READS: the situation that a correction is planned from, its effect on the table, and the corrections made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from typing_extensions import TypedDict

from agents_registry.models import Kind
from league_sdk.ledger.standings import Row, champions, natural
from league_sdk.protocol.schemas.parts import one_of, says
from league_sdk.protocol.states import LeagueState, MatchState, ResultStatus, RoundState
from matches.events.history import Happened
from matches.events.registry import fold
from matches.league import outbox
from matches.league.corrections import planning, plans
from matches.league.corrections.plans import Known, Plan, Situation, Wish
from matches.league.errors import NotFound
from matches.models import Correction, League, Match
from matches.view import queries, sight
from matches.view.rows import Fault
from matches.view.sight import View
from storage import clock


def situation(league: League, matches: Iterable[Match], number: int) -> Situation:
    """Read the situation for a plan about these matches."""
    view = sight.everything(league)
    outcomes = {match: view.outcome(match.match_id) for match in matches}
    known = {
        match.match_id: Known(match, outcome.to_event() if outcome is not None else None)
        for match, outcome in outcomes.items()
    }
    return Situation(league, number, known, tuple(players_of(league)))


def players_of(league: League) -> dict[str, str]:
    """The names of the players in the schedule, by id, in the order of their ids."""
    names = dict(league.agents.filter(kind=Kind.PLAYER).values_list("code", "display_name"))
    return {code: names[code] for code in sorted(names, key=natural) if code not in league.left_out}


def plan_for(league: League, wish: Wish) -> Plan:
    """What a correction would change.

    Raises:
        ActionRefused, Invalid: it cannot be done.
    """
    if wish.kind in plans.OF_MATCH:
        # No id contains NUL, and PostgreSQL refuses a parameter that does.
        concerned = queries.matches_of(league).filter(match_id=wish.match_id.replace("\x00", "\ufffd"))
    else:
        # No correction of a player changes a match to come.
        concerned = queries.matches_of_player(league, wish.player_id).exclude(state=MatchState.PENDING)
    last = league.corrections.aggregate(last=Max("number"))["last"]
    return planning.plan(wish, situation(league, concerned, (last or 0) + 1))


def plan_to_undo(league: League, number: int, reason: str) -> Plan:
    """What undoing a correction would change.

    Raises:
        NotFound: there is no correction with this number.
        ActionRefused: it was undone already, or a later one of the same match or player must be undone first.
    """
    since = list(league.corrections.filter(number__gte=number).select_related("player").order_by("number"))
    if not since or since[0].number != number:
        raise NotFound(_("There is no correction #%(number)d in this league.") % {"number": number})
    made, *later = since
    concerned = queries.matches_of(league).filter(match_id__in=list(made.before.get("matches", ())))
    return planning.plan_undo(made, later, situation(league, concerned, number), reason)


class OutcomeRow(TypedDict):
    """The result of a match as it counted before or after a correction."""

    match_id: Annotated[str, says("The match.")]
    round_id: Annotated[int, says("The number of its round.")]
    players: Annotated[list[str], says("The ids of PLAYER_A and PLAYER_B.")]
    status: Annotated[str, one_of(ResultStatus), says("How it ended.")]
    winner_id: Annotated[str | None, says("The id of the winner; null without one.")]
    reason: Annotated[str, says("The result in a sentence.")]
    details: Annotated[dict[str, Any], says("What happened in the game, by names of the game.")]
    faults: Annotated[list[Fault], says("What players did wrong.")]
    attempt: Annotated[int, says("The attempt whose result it is.")]
    referee_id: Annotated[str | None, says("The referee that reported it; null for none.")]
    correction: Annotated[int | None, says("The number of the correction that set it; null: as it was reported.")]


class CorrectionRow(TypedDict):
    """A correction."""

    number: Annotated[int, says("Its number in the league, from 1 on.")]
    kind: Annotated[str, says("void, replay, set_result, withdraw, disqualify or points.")]
    match_id: Annotated[str | None, says("The match it is about; null when it is about a player.")]
    player_id: Annotated[str | None, says("The player it is about; null when it is about a match.")]
    points: Annotated[int | None, says("The points given, or taken if below 0; null for other kinds.")]
    matches_become: Annotated[str | None, says("What became of a player's matches: keep, void or lose; else null.")]
    reason: Annotated[str, says("Why, as everybody reads it.")]
    made_by: Annotated[str, says("The user who made it; API for a script.")]
    made_at: Annotated[datetime, says("When, in UTC.")]
    before: Annotated[
        dict[str, OutcomeRow | None], says("By match, the result that counted before; null: it was to be played.")
    ]
    after: Annotated[dict[str, OutcomeRow | None], says("By match, the result that counts since; null: replayed.")]
    undone_by: Annotated[str | None, says("The user who undid it; API for a script, null: not undone.")]
    undone_at: Annotated[datetime | None, says("When it was undone, in UTC; null: not undone.")]
    undone_reason: Annotated[str | None, says("Why it was undone; null: not undone.")]


# Preview ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table before or after a correction, and how it differs from the player's row in the other table."""

    row: Row
    points_by: int = 0
    places_up: int = 0
    changed: bool = False

    @property
    def places_down(self) -> int:
        """Places lower."""
        return -self.places_up


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of a plan on the table: its lines before and after; ``warnings`` are sentences for the instructor."""

    plan: Plan
    before: list[Line]
    after: list[Line]
    warnings: list[str]

    @property
    def any_changed(self) -> bool:
        """Whether any row changes."""
        return any(line.changed for line in self.after)


def preview(league: League, plan: Plan) -> Preview:
    """The table before and after a plan, computed with the event that its verb would record. Writes nothing."""
    view = sight.everything(league)
    after = foreseen(view, plan)
    was = {row.player_id: row for row in view.standings}
    lines = [
        Line(
            row,
            points_by=row.points - was[row.player_id].points,
            places_up=was[row.player_id].tied_rank - row.tied_rank,
            changed=row != was[row.player_id],
        )
        for row in after.standings
    ]
    differing = {line.row.player_id for line in lines if line.changed}
    before = [Line(row, changed=row.player_id in differing) for row in view.standings]
    return Preview(plan, before, lines, _warnings(view, after, plan))


def foreseen(view: View, plan: Plan) -> View:
    """The view of a league as it would be after a plan."""
    now = clock.now()
    event = Happened(view.moment.seq + 1, plan.event, plan.data(now), now)
    return View(view.league, fold(view.moment, [event]))


def _warnings(before: View, after: View, plan: Plan) -> list[str]:
    league = before.league
    warnings = []
    active = league.rounds.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).first()
    if active is not None:
        warnings.append(_("Round %(round)d is still on: its results change the table, too.") % {"round": active.number})
    old_champions, new_champions = (
        ", ".join(row.player_id for row in champions(view.standings)) or _("nobody") for view in (before, after)
    )
    if league.state == LeagueState.COMPLETED and old_champions != new_champions:
        changed = {"then": new_champions, "now": old_champions}
        warnings.append(_("The league is over and %(then)s would be champion instead of %(now)s.") % changed)
    if league.frozen_seq is not None:
        warnings.append(_("The board is frozen: the public sees nothing of this until it is unveiled."))
    if league.unveiled:
        warnings.append(
            _("Places are being unveiled: a place that is shown already may change before everybody's eyes.")
        )
    return [*warnings, *_about_matches(league, plan)]


def _about_matches(league: League, plan: Plan) -> list[str]:
    warnings = []
    if plan.reopened:
        names = ", ".join(change.match.match_id for change in plan.reopened)
        warnings.append(
            _("Until it has been played again, the match does not count: %(matches)s.") % {"matches": names}
        )
        if not outbox.referees_of(league):
            warnings.append(_("No referee may judge now: the match waits until there is one."))
    entry = plan.out.get(plan.player_id)
    of_player = queries.matches_of_player(league, plan.player_id)
    # Count in Python: with a filter by state SQLite would scan the PENDING matches of all leagues.
    to_come = list(of_player.values_list("state", flat=True)).count(MatchState.PENDING)
    if entry is not None and to_come and league.state != LeagueState.STOPPED:
        void = entry["matches"] == plans.VOID
        warnings.append(
            (
                ngettext(
                    "%(count)d match to come is cancelled when it is due.",
                    "%(count)d matches to come are cancelled when they are due.",
                    to_come,
                )
                if void
                else ngettext(
                    "%(count)d match to come is lost without a call when it is due.",
                    "%(count)d matches to come are lost without a call when they are due.",
                    to_come,
                )
            )
            % {"count": to_come}
        )
    return warnings


# Corrections that were made ------------------------------------------------------------------------


def corrections_made(league: League) -> list[Correction]:
    """Every correction of a league, the newest first. One query."""
    return list(league.corrections.select_related("player").order_by("-number"))


def event_data_by_number(league: League) -> dict[int, dict[str, Any]]:
    """For each correction of a league, by its number, the data of its event."""
    return sight.everything(league).moment.corrections


def correction_row(correction: Correction) -> CorrectionRow:
    """One correction as a JSON object of the API."""
    return {
        "number": correction.number,
        "kind": correction.kind,
        "match_id": correction.match_id or None,
        "player_id": correction.player.code if correction.player else None,
        "points": correction.points or None,
        "matches_become": correction.matches_become or None,
        "reason": correction.reason,
        "made_by": correction.made_by,
        "made_at": correction.made_at,
        "before": {match_id: was["outcome"] for match_id, was in correction.before.get("matches", {}).items()},
        "after": correction.after.get("matches", {}),
        "undone_by": correction.undone_by or None,
        "undone_at": correction.undone_at,
        "undone_reason": correction.undone_reason or None,
    }
