"""Work out what a correction changes, before anything is written: from a wish and a situation to a plan.

The preview and the verb use the same plan; undoing is a plan, too. Nothing here reads a clock or the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from league_sdk.ledger.standings import DISQUALIFIED, WITHDRAWN
from league_sdk.protocol.states import OPEN, LeagueState, MatchState, ResultStatus
from matches.league import sealing
from matches.league.corrections import plans
from matches.league.corrections.plans import Change, Known, Plan, Situation, Wish
from matches.league.errors import ActionRefused, Invalid
from matches.league.play import unplayed
from matches.league.reports import Verdict
from matches.models import Correction


def plan(wish: Wish, situation: Situation) -> Plan:
    """Plan a correction.

    Raises:
        Invalid: a value is not valid; names the field.
        ActionRefused: the correction cannot be made as things stand.
    """
    if wish.kind not in _PLANS:
        raise Invalid(
            _("There is no correction %(kind)s. Corrections: %(kinds)s.")
            % {"kind": wish.kind, "kinds": ", ".join(_PLANS)},
            field="kind",
        )
    if situation.league.demo:
        raise ActionRefused(_("The demo league restarts by itself: there is nothing to correct."))
    if situation.league.state == LeagueState.REGISTRATION:
        raise ActionRefused(_("There is no schedule yet, and so nothing to correct: close registration first."))
    return _PLANS[wish.kind](wish, situation)


# One match ---------------------------------------------------------------------------------------


def _match(wish: Wish, situation: Situation) -> Known:
    known = situation.matches.get(wish.match_id)
    if known is None:
        raise Invalid(_("There is no match %(match)s in this league.") % {"match": wish.match_id}, field="match_id")
    return known


def _of_match(wish: Wish, situation: Situation, change: Change) -> Plan:
    match = change.match
    return Plan(
        situation.number, wish.kind, wish.reason, match_id=match.match_id, players=match.player_ids, changes=(change,)
    )


def decided(known: Known, number: int, *, status: str, winner: str | None, reason: str) -> Change:
    """Give a match a result that the instructor decided; the details of what was played are kept.

    Raises:
        ActionRefused: the match has a sealed verdict that its players are being told.
    """
    match, earlier = known.match, known.outcome
    sealing.refuse_sealed(match)
    details = unplayed(match) if earlier is None else dict(earlier["details"])
    outcome = Verdict(ResultStatus(status), winner, reason, details, faults=[]).outcome(match)
    if earlier is not None:
        outcome |= {"attempt": earlier["attempt"], "referee_id": earlier["referee_id"]}
    return Change(known, MatchState.FINISHED, outcome | {"correction": number}, match.finished_at)


def _void(wish: Wish, situation: Situation) -> Plan:
    known = _match(wish, situation)
    if known.outcome is None:
        raise ActionRefused(
            _("%(match)s has no result to void: an open match is cancelled at the desk.") % {"match": wish.match_id}
        )
    if known.outcome["status"] == ResultStatus.CANCELLED:
        raise ActionRefused(_("%(match)s counts nowhere already.") % {"match": wish.match_id})
    change = decided(known, situation.number, status=ResultStatus.CANCELLED, winner=None, reason=wish.reason)
    return _of_match(wish, situation, change)


def _set_result(wish: Wish, situation: Situation) -> Plan:
    known = _match(wish, situation)
    if known.outcome is None and known.match.state not in OPEN:
        raise ActionRefused(
            _("%(match)s has not begun: a result can be set when its round is on.") % {"match": wish.match_id}
        )
    needs_winner = {ResultStatus.WIN: True, ResultStatus.DRAW: False, ResultStatus.TECHNICAL_LOSS: None}
    if wish.status not in needs_winner:
        raise Invalid(
            _("Set a result to WIN, DRAW or TECHNICAL_LOSS (seen: %(seen)s).") % {"seen": isolated(wish.status)},
            field="status",
        )
    wants_winner = needs_winner[ResultStatus(wish.status)]
    players = known.match.player_ids
    fits = wish.winner is None or wish.winner in players
    if not fits or (wants_winner is not None and wants_winner != (wish.winner is not None)):
        expected = _("nobody") if wants_winner is False else " / ".join(players)
        raise Invalid(
            _("The winner does not fit %(status)s in %(match)s (seen: %(seen)s, expected: %(expected)s).")
            % {
                "status": wish.status,
                "match": wish.match_id,
                "seen": isolated(wish.winner or "-"),
                "expected": expected,
            },
            field="winner",
        )
    earlier = known.outcome
    if earlier is not None and (earlier["status"], earlier["winner_id"]) == (wish.status, wish.winner):
        raise ActionRefused(_("%(match)s has this result already.") % {"match": wish.match_id})
    change = decided(known, situation.number, status=wish.status, winner=wish.winner, reason=wish.reason)
    return _of_match(wish, situation, change)


def _replay(wish: Wish, situation: Situation) -> Plan:
    known = _match(wish, situation)
    if situation.league.state == LeagueState.STOPPED:
        raise ActionRefused(_("The league was stopped for good: no match of it can be played any more."))
    if known.match.state not in (MatchState.FINISHED, MatchState.HELD):
        raise ActionRefused(
            _("%(match)s is not over: only a finished or a held match is played again.") % {"match": wish.match_id}
        )
    not_playing = [player for player in known.match.player_ids if player in situation.league.out]
    if not_playing:
        raise ActionRefused(
            _("%(player)s is out of the league: undo that first, then have %(match)s played again.")
            % {"player": not_playing[0], "match": wish.match_id}
        )
    return _of_match(wish, situation, Change(known, MatchState.READY, None))


# One player --------------------------------------------------------------------------------------


def _player(wish: Wish, situation: Situation) -> str:
    if wish.player_id not in situation.players:
        raise Invalid(
            _("There is no player %(player)s in the schedule.") % {"player": isolated(wish.player_id)},
            field="player_id",
        )
    return wish.player_id


def result_without_play(
    players: Sequence[str], out: Mapping[str, Mapping[str, str]]
) -> tuple[ResultStatus, str | None]:
    """The status and winner of a match that is not played because at least one of its players is out."""
    if any(out[player]["matches"] == plans.VOID for player in players if player in out):
        return ResultStatus.CANCELLED, None
    present = [player for player in players if player not in out]
    return ResultStatus.TECHNICAL_LOSS, present[0] if present else None


def _take_out(wish: Wish, situation: Situation) -> Plan:
    player = _player(wish, situation)
    word = DISQUALIFIED if wish.kind == plans.DISQUALIFY else WITHDRAWN
    already = situation.league.out.get(player)
    if already is not None and (already["word"] == word or word == WITHDRAWN):
        raise ActionRefused(_("%(player)s is out of the league already.") % {"player": player})
    if wish.matches_become not in plans.MATCHES_BECOME:
        raise Invalid(
            _("Say what becomes of its matches: keep, void or lose (seen: %(seen)s).")
            % {"seen": isolated(wish.matches_become)},
            field="matches_become",
        )
    entry = {"word": word, "matches": wish.matches_become}
    out = {**situation.league.out, player: entry}
    changes = []
    for known in situation.matches.values():
        players, earlier = known.match.player_ids, known.outcome
        if player not in players or not _is_touched(known, wish.matches_become):
            continue
        status, winner = result_without_play(
            players, {code: entry for code, entry in out.items() if not _stands(known, code, entry)}
        )
        if earlier is None or (earlier["status"], earlier["winner_id"]) != (status, winner):
            why = f"{player} was {word}: {wish.reason}"
            changes.append(decided(known, situation.number, status=status, winner=winner, reason=why))
    return Plan(
        situation.number,
        wish.kind,
        wish.reason,
        player_id=player,
        matches_become=wish.matches_become,
        changes=tuple(changes),
        out={player: entry},
    )


def _stands(known: Known, player: str, entry: Mapping[str, str]) -> bool:
    """Whether the result of a match stands although this player, one of its two, is out.

    It stands if the player keeps its matches, and has not lost this one without play.
    """
    earlier = known.outcome
    if earlier is None or entry["matches"] != plans.KEEP:
        return False
    return bool(earlier["status"] != ResultStatus.TECHNICAL_LOSS or earlier["winner_id"] == player)


def _is_touched(known: Known, matches_become: str) -> bool:
    """Whether a match changes at once. Matches to come are decided when they are due; a void match stays void."""
    if known.outcome is None:
        return known.match.state in OPEN
    return matches_become != plans.KEEP and known.outcome["status"] != ResultStatus.CANCELLED


def _points(wish: Wish, situation: Situation) -> Plan:
    player = _player(wish, situation)
    if not 1 <= abs(wish.points) <= plans.MAX_POINTS:
        raise Invalid(
            _("Give 1 to %(max)d points, or take as many (seen: %(seen)s).")
            % {"max": plans.MAX_POINTS, "seen": wish.points},
            field="points",
        )
    return Plan(situation.number, wish.kind, wish.reason, player_id=player, points={player: wish.points})


_PLANS = {
    plans.VOID: _void,
    plans.REPLAY: _replay,
    plans.SET_RESULT: _set_result,
    plans.WITHDRAW: _take_out,
    plans.DISQUALIFY: _take_out,
    plans.POINTS: _points,
}


# Undoing -----------------------------------------------------------------------------------------


def plan_undo(made: Correction, later: Sequence[Correction], situation: Situation, reason: str) -> Plan:
    """Plan to undo a correction: the results, points and players that it changed are put back.

    Args:
        later: the corrections that came after it.

    Raises:
        ActionRefused: it is undone already, or a later one has to be undone first.
    """
    if made.undone_at is not None:
        raise ActionRefused(_("Correction #%(number)d is undone already.") % {"number": made.number})
    blocking = [item.number for item in later if item.undone_at is None and _touched(item) & _touched(made)]
    if blocking:
        raise ActionRefused(
            _("Correction #%(later)d came after #%(number)d for the same match or player: undo #%(later)d first.")
            % {"later": max(blocking), "number": made.number}
        )
    player_id = made.player.code if made.player else ""
    return Plan(
        made.number,
        made.kind,
        reason,
        undo=True,
        match_id=made.match_id,
        player_id=player_id,
        players=tuple(made.after.get("players", ())),
        matches_become=made.matches_become,
        changes=tuple(
            _put_back(situation.matches[match_id], was, situation) for match_id, was in _before(made).items()
        ),
        points={player_id: -made.points} if made.points else {},
        out=made.before.get("out", {}),
    )


def _before(made: Correction) -> Mapping[str, Mapping[str, Any]]:
    """The state of each match before a correction, by match id."""
    matches: Mapping[str, Mapping[str, Any]] = made.before.get("matches", {})
    return matches


def _touched(made: Correction) -> set[str]:
    """The matches and the player that a correction is about."""
    return set(_before(made)) | ({f"player {made.player.code}"} if made.player else set())


def _put_back(known: Known, was: Mapping[str, Any], situation: Situation) -> Change:
    state = was["state"]
    if state != MatchState.FINISHED:
        # Its referee was told that the match is over, so it starts again, unless the league was stopped.
        state = MatchState.HELD if state == MatchState.HELD else MatchState.READY
        state = MatchState.PENDING if situation.league.state == LeagueState.STOPPED else state
    finished_at = was["columns"]["finished_at"]
    return Change(known, state, was["outcome"], datetime.fromisoformat(finished_at) if finished_at else None)
