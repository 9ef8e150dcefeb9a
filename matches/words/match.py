"""A match in words: why it ended, what became of each attempt, how long an answer took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import ResultStatus
from matches.events.history import Outcome
from matches.words import states
from matches.words.notes import sentence_of


def own_words(outcome: Outcome, quotes: Mapping[str, str], *, owned: str = "") -> list[str]:
    """What the players said themselves in place of an answer, each in a sentence without a full stop.

    Args:
        outcome: how the match ended; after a correction by the instructor no player's words explain it.
        quotes: the players' words by id, as far as the reader may see them.
        owned: the id of the reader's own player; empty for the staff.
    """
    if outcome.correction is not None:
        return []
    blamed = dict.fromkeys(fault["player_id"] for fault in outcome.faults)
    of_own_agent, of_player = _("your agent said: %(words)s"), _("%(player)s said: %(words)s")
    return [
        (of_own_agent if player == owned else of_player) % {"player": player, "words": isolated(quotes[player])}
        for player in blamed
        if quotes.get(player)
    ]


def why(outcome: Outcome) -> str:
    """Why a match ended as it did, in a sentence or two, each with a full stop.

    If nothing else is known, the text that is stored with the result, as it is; translated if the site wrote it.
    """
    reasons = "; ".join(_reasons(outcome)) if outcome.correction is None else ""
    if reasons:
        end = {
            ResultStatus.TECHNICAL_LOSS: _("technical loss"),
            ResultStatus.CANCELLED: _("the match counts nowhere"),
        }.get(ResultStatus(outcome.status))
        return f"{reasons}: {end}." if end else f"{reasons}."
    games = (_even_odd_reason, _sum_reason, _board_reason)
    return next((sentence for of_game in games if (sentence := of_game(outcome))), sentence_of(outcome.reason))


def _reasons(outcome: Outcome) -> list[str]:
    """Each player's own reason, in sentences without a full stop, if the match was not played out."""
    reasons = [states.fault_sentence(fault) for fault in outcome.faults]
    if outcome.status == ResultStatus.TECHNICAL_LOSS:
        blamed = {fault["player_id"] for fault in outcome.faults}
        # A player that lost without play and has no fault was taken out of the league by the instructor.
        taken_out = [player for player in outcome.players if player != outcome.winner and player not in blamed]
        reasons += [
            _("%(player)s was taken out of the league: not called") % {"player": player} for player in taken_out
        ]
    return reasons


def _even_odd_reason(outcome: Outcome) -> str:
    """For the even-odd game: the number and both choices; empty for other games."""
    number, choices = outcome.details.get("drawn_number"), outcome.details.get("choices")
    if outcome.correction is not None or not isinstance(number, int) or not isinstance(choices, Mapping):
        return ""
    by_seat = [choices.get(player) for player in outcome.players]
    known = {"even": _("even"), "odd": _("odd")}
    if any(not isinstance(choice, str) or choice not in known for choice in by_seat):
        return ""
    first, second = outcome.players
    return _("The number is %(number)d, %(parity)s: %(a)s chose %(first)s, %(b)s %(second)s.") % {
        "number": number,
        "parity": known[("even", "odd")[number % 2]],
        "a": first,
        "first": known[str(by_seat[0])],
        "b": second,
        "second": known[str(by_seat[1])],
    }


def _sum_reason(outcome: Outcome) -> str:
    """For even-odd with numbers: how the sum came about, and whose parity it is; empty for other games."""
    total, number, choices = (outcome.details.get(name) for name in ("sum", "drawn_number", "choices"))
    if outcome.correction is not None or not outcome.winner or not isinstance(choices, Mapping):
        return ""
    by_seat = [choices.get(player) for player in outcome.players]
    if type(total) is not int or any(type(part) is not int for part in (number, *by_seat)):
        return ""
    sentence = _("%(first)d + %(second)d + %(number)d = %(sum)d is %(parity)s, and %(winner)s stands for %(parity)s.")
    return sentence % {
        "first": by_seat[0],
        "second": by_seat[1],
        "number": number,
        "sum": total,
        "parity": (_("even"), _("odd"))[total % 2],
        "winner": outcome.winner,
    }


def _board_reason(outcome: Outcome) -> str:
    """For games of marks in a row: the row, or that the board is full; empty for other games."""
    cells, moves = outcome.details.get("winning_cells"), outcome.details.get("moves")
    if outcome.correction is not None or not isinstance(cells, list) or not isinstance(moves, list):
        return ""
    if not outcome.winner:
        return "" if cells else _("The board is full, and nobody has a row.")
    if not cells:
        return ""
    values = {"winner": outcome.winner, "row": len(cells), "moves": len(moves)}
    return _("%(winner)s has %(row)d in a row. Moves: %(moves)d.") % values


def owner(cause: str) -> str:
    """The side that a cause belongs to; empty for an unknown cause."""
    if cause not in frozenset(Cause):
        return ""
    return {Cause.REFEREE: _("the referee's side"), Cause.LEAGUE: _("the league's side")}.get(
        Cause(cause), _("the player's side")
    )


def lost_attempt(data: Mapping[str, Any]) -> str:
    """Why an attempt was lost, from its event ``attempt_lost`` or ``match_held``."""
    names = {"referee": data.get("referee_id") or "–", "reason": reason_lost(data)}
    if data.get("cause") == Cause.LEAGUE:
        return _("Lost through the league: %(reason)s. It counts for nobody.") % names
    return _("Lost with its referee %(referee)s: %(reason)s. It counts for nobody.") % names


def reason_lost(data: Mapping[str, Any]) -> str:
    """The reason in an event ``attempt_lost`` or ``match_held``: there a note, or a text of an earlier version."""
    return sentence_of(data.get("why")) or "–"


def duration(milliseconds: int) -> str:
    """A time in words: "12 ms", "1.234 s", "30 s", "2 min 5 s".

    Args:
        milliseconds: not negative.
    """
    if milliseconds < 1000:
        return _("%(ms)d ms") % {"ms": milliseconds}
    if milliseconds >= 120_000:
        return _("%(min)d min %(s)d s") % {"min": milliseconds // 60_000, "s": milliseconds // 1000 % 60}
    return _("%(s)s s") % {"s": f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".")}


def took(elapsed_ms: int, limit_ms: int | None) -> str:
    """How long an answer took, and how long it might take at most."""
    if limit_ms is None:
        return duration(elapsed_ms)
    return _("%(took)s of %(limit)s") % {"took": duration(elapsed_ms), "limit": duration(limit_ms)}


def no_answer(elapsed_ms: int | None, limit_ms: int | None) -> str:
    """Says that there was no answer, and in how long, if the whole time was waited for it."""
    if limit_ms is not None and (elapsed_ms is None or elapsed_ms >= limit_ms):
        return _("no answer in %(limit)s") % {"limit": duration(limit_ms)}
    return _("no answer")


def too_late(elapsed_ms: int, limit_ms: int) -> str:
    """Says that an answer came after the deadline, and by how much."""
    return _("%(took)s: too late by %(late)s") % {
        "took": duration(elapsed_ms),
        "late": duration(elapsed_ms - limit_ms),
    }


def tries(count: int) -> str:
    """How often an agent was asked."""
    return ngettext("%(count)d try", "%(count)d tries", count) % {"count": count}


def letter(outcome: Outcome, player_id: str) -> str:
    """How a match ended for a player: W, D, L, T, or C when it was cancelled."""
    if outcome.status == "DRAW":
        return "D"
    if outcome.status == "WIN":
        return "W" if outcome.winner == player_id else "L"
    if outcome.status == "TECHNICAL_LOSS":
        return "W" if outcome.winner == player_id else "T"
    return "C"
