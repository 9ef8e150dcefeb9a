"""What a correction changes, worked out before anything is written: a wish and how things stand in, a plan out. Pure.

The preview and the verb use the same plan; undoing is a plan, too. Nothing here reads a clock or a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from league_sdk.ledger.standings import DISQUALIFIED, WITHDRAWN
from league_sdk.protocol.states import LeagueState, MatchState, ResultStatus
from matches.league.corrections.plans import (
    DISQUALIFY,
    KEEP,
    MATCHES_BECOME,
    MOST_POINTS,
    NO_RESULT,
    OPEN,
    POINTS,
    REPLAY,
    SET_RESULT,
    VOID,
    WITHDRAW,
    Change,
    Known,
    Made,
    Plan,
    Situation,
    Wish,
)
from matches.league.errors import ActionRefused, Invalid


def plan(wish: Wish, now: Situation) -> Plan:
    """What a correction changes.

    Raises:
        Invalid: something asked for is not usable; names the field.
        ActionRefused: it cannot be done as things stand.
    """
    if wish.kind not in _PLANS:
        raise Invalid(
            _("There is no correction %(kind)s. Corrections: %(kinds)s.")
            % {"kind": wish.kind, "kinds": ", ".join(_PLANS)},
            field="kind",
        )
    if now.demo:
        raise ActionRefused(_("The demo league begins afresh by itself: there is nothing to correct."))
    if now.state == LeagueState.REGISTRATION:
        raise ActionRefused(_("There is no schedule yet, and so nothing to correct: close registration first."))
    return _PLANS[wish.kind](wish, now)


# One match ---------------------------------------------------------------------------------------


def _match(wish: Wish, now: Situation) -> Known:
    known = now.matches.get(wish.match_id)
    if known is None:
        raise Invalid(_("There is no match %(match)s in this league.") % {"match": wish.match_id}, field="match_id")
    return known


def _of_match(wish: Wish, now: Situation, change: Change) -> Plan:
    known = change.known
    return Plan(now.number, wish.kind, wish.reason, match_id=known.match_id, players=known.players, changes=(change,))


def decided(known: Known, number: int, *, status: str, winner: str | None, reason: str) -> Change:
    """A match with a result by decision; what was played in it stays on show.

    Raises:
        ActionRefused: its result is being told.
    """
    if known.sealed:
        raise ActionRefused(
            _("The result of %(match)s is being told to its players: try again in a few seconds.")
            % {"match": known.match_id}
        )
    details = dict(known.outcome["details"] if known.outcome is not None else known.blank)
    columns = {
        "status": str(status),
        "winner": winner,
        "reason": reason,
        "details": details,
        "faults": [],
        # One that had no result yet is given the time of the correction.
        "finished_at": known.columns["finished_at"],
    }
    outcome = {
        "match_id": known.match_id,
        "round_id": known.round_number,
        "players": list(known.players),
        "status": str(status),
        "winner_id": winner,
        "reason": reason,
        "details": details,
        "faults": [],
        "attempt": known.outcome["attempt"] if known.outcome is not None else known.attempt,
        "referee_id": known.outcome["referee_id"] if known.outcome is not None else known.referee_id,
        "correction": number,
    }
    return Change(known, MatchState.FINISHED, columns, outcome)


def _void(wish: Wish, now: Situation) -> Plan:
    known = _match(wish, now)
    if known.outcome is None:
        raise ActionRefused(
            _("%(match)s has no result to void: an open match is cancelled at the desk.") % {"match": known.match_id}
        )
    if known.outcome["status"] == ResultStatus.CANCELLED:
        raise ActionRefused(_("%(match)s counts nowhere already.") % {"match": known.match_id})
    change = decided(known, now.number, status=ResultStatus.CANCELLED, winner=None, reason=wish.reason)
    return _of_match(wish, now, change)


def _set_result(wish: Wish, now: Situation) -> Plan:
    known = _match(wish, now)
    if known.outcome is None and known.state not in OPEN:
        raise ActionRefused(
            _("%(match)s has not begun: a result can be set when its round is on.") % {"match": known.match_id}
        )
    needs_winner = {ResultStatus.WIN: True, ResultStatus.DRAW: False, ResultStatus.TECHNICAL_LOSS: None}
    if wish.status not in needs_winner:
        raise Invalid(
            _("Set a result to WIN, DRAW or TECHNICAL_LOSS (seen: %(seen)s).") % {"seen": wish.status}, field="status"
        )
    wanted = needs_winner[ResultStatus(wish.status)]
    fits = wish.winner is None or wish.winner in known.players
    if not fits or (wanted is not None and wanted != (wish.winner is not None)):
        expected = _("nobody") if wanted is False else " / ".join(known.players)
        raise Invalid(
            _("The winner does not fit %(status)s in %(match)s (seen: %(seen)s, expected: %(expected)s).")
            % {"status": wish.status, "match": known.match_id, "seen": wish.winner or "-", "expected": expected},
            field="winner",
        )
    seen = known.outcome
    if seen is not None and (seen["status"], seen["winner_id"]) == (wish.status, wish.winner):
        raise ActionRefused(_("%(match)s has this result already.") % {"match": known.match_id})
    change = decided(known, now.number, status=wish.status, winner=wish.winner, reason=wish.reason)
    return _of_match(wish, now, change)


def _replay(wish: Wish, now: Situation) -> Plan:
    known = _match(wish, now)
    if now.state == LeagueState.STOPPED:
        raise ActionRefused(_("The league was stopped for good: no match of it can be played any more."))
    if known.state not in (MatchState.FINISHED, MatchState.HELD):
        raise ActionRefused(
            _("%(match)s is not over: only a finished or a held match is played again.") % {"match": known.match_id}
        )
    gone = [player for player in known.players if player in now.out]
    if gone:
        raise ActionRefused(
            _("%(player)s is out of the league: undo that first, then have %(match)s played again.")
            % {"player": gone[0], "match": known.match_id}
        )
    return _of_match(wish, now, Change(known, MatchState.READY, NO_RESULT, None))


# One player --------------------------------------------------------------------------------------


def _player(wish: Wish, now: Situation) -> str:
    if wish.player_id not in now.players:
        raise Invalid(
            _("There is no player %(player)s in the schedule.") % {"player": wish.player_id}, field="player_id"
        )
    return wish.player_id


def fate(players: Sequence[str], out: Mapping[str, Mapping[str, str]]) -> tuple[ResultStatus, str | None]:
    """How a match ends without being played, when at least one of its players is out."""
    if any(out[player]["matches"] == VOID for player in players if player in out):
        return ResultStatus.CANCELLED, None
    present = [player for player in players if player not in out]
    return ResultStatus.TECHNICAL_LOSS, present[0] if present else None


def _take_out(wish: Wish, now: Situation) -> Plan:
    player = _player(wish, now)
    word = DISQUALIFIED if wish.kind == DISQUALIFY else WITHDRAWN
    already = now.out.get(player)
    if already is not None and (already["word"] == word or word == WITHDRAWN):
        raise ActionRefused(_("%(player)s is out of the league already.") % {"player": player})
    if wish.matches_become not in MATCHES_BECOME:
        raise Invalid(
            _("Say what becomes of its matches: keep, void or lose (seen: %(seen)s).") % {"seen": wish.matches_become},
            field="matches_become",
        )
    entry = {"word": word, "matches": wish.matches_become}
    out = {**now.out, player: entry}
    changes = []
    for known in now.matches.values():
        if player not in known.players or not _is_touched(known, wish.matches_become):
            continue
        seen = known.outcome
        status, winner = fate(known.players, {code: one for code, one in out.items() if not _stands(known, code, one)})
        if seen is None or (seen["status"], seen["winner_id"]) != (status, winner):
            why = f"{player} was {word}: {wish.reason}"
            changes.append(decided(known, now.number, status=status, winner=winner, reason=why))
    return Plan(
        now.number,
        wish.kind,
        wish.reason,
        player_id=player,
        matches_become=wish.matches_become,
        changes=tuple(changes),
        out={player: entry},
    )


def _stands(known: Known, player: str, entry: Mapping[str, str]) -> bool:
    """Whether a match can be won by a player that is out: who keeps its matches keeps what it has, and misses the rest.

    Whoever is in the league wins it by the other's being put out, as every match that is not played.
    """
    seen = known.outcome
    if seen is None or entry["matches"] != KEEP:
        return False
    return bool(seen["status"] != ResultStatus.TECHNICAL_LOSS or seen["winner_id"] == player)


def _is_touched(known: Known, matches_become: str) -> bool:
    """Whether a match changes now. Those to come are decided when they are due; what is void stays void."""
    if known.outcome is None:
        return known.state in OPEN
    return matches_become != KEEP and known.outcome["status"] != ResultStatus.CANCELLED


def _points(wish: Wish, now: Situation) -> Plan:
    player = _player(wish, now)
    if isinstance(wish.points, bool) or not isinstance(wish.points, int) or not 1 <= abs(wish.points) <= MOST_POINTS:
        raise Invalid(
            _("Give 1 to %(most)d points, or take as many (seen: %(seen)s).")
            % {"most": MOST_POINTS, "seen": wish.points},
            field="points",
        )
    return Plan(now.number, wish.kind, wish.reason, player_id=player, points={player: wish.points})


_PLANS = {
    VOID: _void,
    REPLAY: _replay,
    SET_RESULT: _set_result,
    WITHDRAW: _take_out,
    DISQUALIFY: _take_out,
    POINTS: _points,
}


# Undoing -----------------------------------------------------------------------------------------


def plan_undo(made: Made, later: Sequence[Made], now: Situation, reason: str) -> Plan:
    """What the undoing of a correction changes: everything it touched is as it was before it.

    Args:
        later: the corrections that came after it.

    Raises:
        ActionRefused: it is undone already, or a later one has to be undone first.
    """
    if made.undone:
        raise ActionRefused(_("Correction #%(number)d is undone already.") % {"number": made.number})
    above = [one.number for one in later if not one.undone and one.touches & made.touches]
    if above:
        raise ActionRefused(
            _("Correction #%(later)d came after #%(number)d and is about the same: undo #%(later)d first.")
            % {"later": max(above), "number": made.number}
        )
    return Plan(
        made.number,
        made.kind,
        reason,
        undo=True,
        match_id=made.match_id,
        player_id=made.player_id,
        players=made.players,
        matches_become=made.matches_become,
        changes=tuple(_put_back(now.matches[match_id], was, now) for match_id, was in made.before.items()),
        points={made.player_id: -made.points} if made.points else {},
        out=made.out,
    )


def _put_back(known: Known, was: Mapping[str, Any], now: Situation) -> Change:
    state = was["state"]
    if state != MatchState.FINISHED:
        # Whoever was playing it has been told that it is over: it begins anew, where there is still time.
        state = MatchState.HELD if state == MatchState.HELD else MatchState.READY
        state = MatchState.PENDING if now.state == LeagueState.STOPPED else state
    return Change(known, state, was["columns"], was["outcome"])
