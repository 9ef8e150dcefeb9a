"""READS: what corrections are planned from, what they would do to the table, and the list of those made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.models import Kind
from league_sdk.ledger.standings import Row, natural
from league_sdk.protocol.states import IN_PLAY, LeagueState, MatchState, RoundState
from league_sdk.rules.registry import get_game
from matches.events.history import Happened, Outcome
from matches.events.registry import fold
from matches.league import outbox
from matches.league.corrections import planning, plans
from matches.league.corrections.plans import Known, Made, Plan, Situation, Wish
from matches.league.errors import NotFound
from matches.models import Correction, League, Match
from matches.view import queries, sight
from matches.view.sight import View


def told(outcome: Outcome | None) -> dict[str, Any] | None:
    """A result that counts, as an event tells it."""
    if outcome is None:
        return None
    return {
        "match_id": outcome.match_id,
        "round_id": outcome.round_number,
        "players": list(outcome.players),
        "status": outcome.status,
        "winner_id": outcome.winner,
        "reason": outcome.reason,
        "details": dict(outcome.details),
        "faults": [dict(fault) for fault in outcome.faults],
        "attempt": outcome.attempt,
        "referee_id": outcome.referee_id,
        "correction": outcome.correction,
    }


def situation(league: League, matches: Iterable[Match], number: int) -> Situation:
    """How things stand, for a plan about these matches."""
    then = sight.everything(league).moment
    game = get_game(league.game_type)
    found = {}
    for match in matches:
        players = (match.player_a.code, match.player_b.code)
        outcome = told(then.outcomes.get(match.match_id))
        found[match.match_id] = Known(
            match_id=match.match_id,
            round_number=match.round.number,
            players=players,
            state=match.state,
            attempt=match.attempt,
            referee_id=match.referee.code if match.referee else None,
            columns={
                "status": match.status,
                "winner": match.winner.code if match.winner else None,
                "reason": match.reason,
                "details": match.details,
                "faults": match.faults,
                "finished_at": match.finished_at.isoformat() if match.finished_at else None,
            },
            outcome=outcome,
            blank=game.unfinished(game.new_state(players)) if outcome is None else {},
            sealed=match.seal is not None and match.state in IN_PLAY,
        )
    return Situation(
        number=number,
        state=league.state,
        matches=found,
        players=tuple(players_of(league)),
        out=league.out,
        demo=league.demo,
    )


def players_of(league: League) -> dict[str, str]:
    """Names of those in the schedule, by id, in the order of their ids."""
    names = dict(league.agents.filter(kind=Kind.PLAYER).values_list("code", "display_name"))
    return {code: names[code] for code in sorted(names, key=natural) if code not in league.left_out}


def next_number(league: League) -> int:
    """The number of the next correction."""
    last = league.corrections.aggregate(last=Max("number"))["last"]
    return (last or 0) + 1


def plan_for(league: League, wish: Wish) -> Plan:
    """What a correction would change.

    Raises:
        ActionRefused, Invalid: it cannot be done.
    """
    concerned = queries.matches_of(league)
    if wish.kind in plans.OF_MATCH:
        # No id holds a NUL, and PostgreSQL would not even look for one.
        concerned = concerned.filter(match_id=wish.match_id.replace("\x00", "\ufffd"))
    else:
        code = wish.player_id.replace("\x00", "\ufffd")
        concerned = concerned.filter(Q(player_a__code=code) | Q(player_b__code=code))
    return planning.plan(wish, situation(league, concerned, next_number(league)))


def plan_to_undo(league: League, number: int, reason: str) -> Plan:
    """What undoing a correction would change.

    Raises:
        NotFound: there is none of this number.
        ActionRefused: it is undone, or a later one comes first.
    """
    after = list(league.corrections.filter(number__gte=number).select_related("player").order_by("number"))
    if not after or after[0].number != number:
        raise NotFound(_("There is no correction #%(number)d in this league.") % {"number": number})
    made, later = _made(after[0]), [_made(one) for one in after[1:]]
    concerned = queries.matches_of(league).filter(match_id__in=list(made.before))
    return planning.plan_undo(made, later, situation(league, concerned, number), reason)


def _made(correction: Correction) -> Made:
    return Made(
        number=correction.number,
        kind=correction.kind,
        match_id=correction.match_id,
        player_id=correction.player.code if correction.player else "",
        players=tuple(correction.after.get("players", ())),
        points=correction.points,
        matches_become=correction.matches_become,
        before=correction.before.get("matches", {}),
        out=correction.before.get("out", {}),
        undone=correction.undone_at is not None,
    )


# What it would do --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One player's row, and how it differs from the other table: points more, places higher, or anything at all."""

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
    """What a plan would do to the table of now; ``warnings`` are sentences."""

    plan: Plan
    before: list[Line]
    after: list[Line]
    warnings: list[str]

    @property
    def any_changed(self) -> bool:
        """Whether the table differs at all."""
        return any(line.changed for line in self.after)


def preview(league: League, plan: Plan) -> Preview:
    """The table before and after a plan, by the same event that its verb would record. Writes nothing."""
    seen = sight.everything(league)
    after = foreseen(seen, plan)
    was = {row.player_id: row for row in seen.standings}
    lines = [
        Line(
            row,
            points_by=row.points - was[row.player_id].points,
            places_up=was[row.player_id].rank - row.rank,
            changed=row != was[row.player_id],
        )
        for row in after.standings
    ]
    differing = {line.row.player_id for line in lines if line.changed}
    before = [Line(row, changed=row.player_id in differing) for row in seen.standings]
    return Preview(plan, before, lines, _warnings(seen, after, plan))


def foreseen(seen: View, plan: Plan) -> View:
    """A league as it would be after a plan."""
    event = Happened(seen.moment.seq + 1, plan.event, plan.data(), timezone.now())
    return View(seen.league, fold(seen.moment, [event]))


def champion_after(league: League, plan: Plan) -> Row | None:
    """Who would be first after a plan."""
    rows = foreseen(sight.everything(league), plan).standings
    return rows[0] if rows else None


def _warnings(seen: View, after: View, plan: Plan) -> list[str]:
    league = seen.league
    found = []
    on = league.rounds.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).first()
    if on is not None:
        found.append(_("Round %(round)d is still on: its results change the table, too.") % {"round": on.number})
    first, then = seen.standings[:1], after.standings[:1]
    if league.state == LeagueState.COMPLETED and first and first[0].player_id != then[0].player_id:
        found.append(
            _("The league is over and %(then)s would be champion instead of %(now)s.")
            % {"then": then[0].player_id, "now": first[0].player_id}
        )
    if league.frozen_seq is not None:
        found.append(_("The board is frozen: the public sees nothing of this until it is unveiled."))
    if league.unveiled:
        found.append(_("Places are being unveiled: one that is shown already may change before everybody's eyes."))
    return [*found, *_about_matches(league, plan)]


def _about_matches(league: League, plan: Plan) -> list[str]:
    found = []
    if plan.reopened:
        names = ", ".join(change.known.match_id for change in plan.reopened)
        found.append(_("Until it has been played anew, the match counts nowhere: %(matches)s.") % {"matches": names})
        if not outbox.referees_of(league):
            found.append(_("No referee may judge now: the match waits until there is one."))
    entry = plan.out.get(plan.player_id)
    own = league.matches.filter(Q(player_a__code=plan.player_id) | Q(player_b__code=plan.player_id))
    # Counted here: by the state SQLite would go through the matches to come of all leagues.
    coming = list(own.values_list("state", flat=True)).count(MatchState.PENDING)
    if entry is not None and coming and league.state != LeagueState.STOPPED:
        void = entry["matches"] == plans.VOID
        found.append(
            (
                ngettext(
                    "%(count)d match to come is cancelled when it is due.",
                    "%(count)d matches to come are cancelled when they are due.",
                    coming,
                )
                if void
                else ngettext(
                    "%(count)d match to come is lost without a call when it is due.",
                    "%(count)d matches to come are lost without a call when they are due.",
                    coming,
                )
            )
            % {"count": coming}
        )
    return found


# What has been done ------------------------------------------------------------------------------


def corrections_made(league: League) -> list[Correction]:
    """Every correction of a league, the newest first. One query."""
    return list(league.corrections.select_related("player").order_by("-number"))


def told_by_number(league: League) -> dict[int, dict[str, Any]]:
    """The corrections of a league as their events tell them, by number."""
    return sight.everything(league).moment.corrections


def correction_line(correction: Correction) -> dict[str, Any]:
    """One correction for a script."""
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
