"""States, results and faults in words, for people, in their language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import get_language_bidi, ngettext
from django.utils.translation import gettext as _

from league_sdk.protocol.faults import describe
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.view.summaries import Summary
from matches.words import corrections
from matches.words.notes import sentence_of


def not_shown_to_be_yours() -> str:
    """Tells an owner why the answers of an agent that was registered from elsewhere are withheld, and what to do."""
    return _(
        "What this agent answered is withheld: nobody has shown that it is yours, as it was registered from elsewhere. "
        "Register it from the machine it runs on, with that machine's address as a number, or with your personal code, "
        "and use the auth_token of that registration. Or have it put its auth_token into its answers: "
        "after one match it is shown."
    )


def league_state(state: str) -> str:
    """A league's state in words."""
    return {
        LeagueState.REGISTRATION: _("registration open"),
        LeagueState.SCHEDULED: _("scheduled"),
        LeagueState.RUNNING: _("running"),
        LeagueState.COMPLETED: _("completed"),
        LeagueState.STOPPED: _("stopped"),
    }[LeagueState(state)]


def match_state(state: str, to_move: str | None = None) -> str:
    """A match's state in words; while a game is played in turns, whose turn it is."""
    if state == MatchState.COLLECTING_CHOICES and to_move:
        return _("%(player)s to move") % {"player": to_move}
    return {
        MatchState.PENDING: _("not started"),
        MatchState.READY: _("waiting for a referee"),
        MatchState.ASSIGNED: _("handed to a referee"),
        MatchState.WAITING_FOR_PLAYERS: _("waiting for players"),
        MatchState.COLLECTING_CHOICES: _("collecting choices"),
        MatchState.DRAWING_NUMBER: _("drawing"),
        MatchState.FINISHED: _("finished"),
        MatchState.HELD: _("held"),
    }[MatchState(state)]


def _registration_headline(known: Summary) -> str:
    if known.rounds:
        return _("Registration is closed: the schedule is being made.")
    return ngettext(
        "Registration is open: %(count)d player so far.",
        "Registration is open: %(count)d players so far.",
        known.players,
    ) % {"count": known.players}


def headline(known: Summary, frozen_after: int | None) -> str:
    """One sentence on what is happening in a league now, or why nothing is happening."""
    state = known.state
    if frozen_after is not None:
        return _("The board is frozen after round %(round)d; the rest is unveiled at the end.") % {
            "round": frozen_after
        }
    if state == LeagueState.REGISTRATION:
        return _registration_headline(known)
    if state == LeagueState.STOPPED:
        return _("The league was stopped.")
    rounds_over = known.round_state == RoundState.COMPLETED and known.round_number == known.rounds
    if rounds_over and known.matches_done < known.matches:
        return _replays_headline(known.matches - known.matches_done)
    if state == LeagueState.COMPLETED:
        over = ngettext(
            "The league is over: its only match is played.",
            "The league is over: all %(count)d matches are played.",
            known.matches,
        ) % {"count": known.matches}
        return over if known.champions else f"{over} {no_champion()}"
    if known.paused:
        return _("Paused: no match starts until the instructor resumes the league.")
    if known.round_number is None:
        return _("The schedule is made: round 1 starts when the instructor starts it.")
    numbers = {"round": known.round_number, "next": known.round_number + 1}
    if known.round_state == RoundState.ANNOUNCING:
        return _("Round %(round)d is being announced to the players.") % numbers
    if known.round_state == RoundState.COMPLETED:
        return _between_rounds_headline(known.auto_advance) % numbers
    if known.held:
        return ngettext(
            "%(count)d match is held: it is tried again by itself, or the instructor decides.",
            "%(count)d matches are held: they are tried again by themselves, or the instructor decides.",
            known.held,
        ) % {"count": known.held}
    left = known.round_total - known.round_done
    if left and known.round_waiting == left:
        return _("Waiting for a referee: as soon as one is there, round %(round)d is played.") % numbers
    return ngettext(
        "Round %(round)d is being played: %(left)d match to go.",
        "Round %(round)d is being played: %(left)d matches to go.",
        left,
    ) % {"round": known.round_number, "left": left}


def no_champion() -> str:
    """Says that nobody has won a league that is over (ruling, section 14)."""
    return _("There is no champion: no match that counts was won or drawn.")


def _between_rounds_headline(auto_advance: bool) -> str:
    if auto_advance:
        return _("Round %(round)d is over: round %(next)d follows at once.")
    return _("Round %(round)d is over: round %(next)d starts when the instructor starts it.")


def _replays_headline(count: int) -> str:
    """Says that every round is over, except for matches that the instructor ordered to be replayed."""
    return ngettext(
        "All rounds are over; %(count)d match is played again and may change the table.",
        "All rounds are over; %(count)d matches are played again and may change the table.",
        count,
    ) % {"count": count}


def result_summary(
    status: str, winner: str | None, details: Mapping[str, Any], faults: Sequence[Mapping[str, Any]] = ()
) -> str:
    """A result in a few words, such as "P01 won · 8 even" or "P02 won · 9 moves"."""
    ending, moves = "", details.get("moves")
    if isinstance(details.get("sum"), int):
        ending = f"{_separator()}{details['sum']} {_parity_word(details.get('sum_parity'))}".rstrip()
    elif details.get("drawn_number") is not None:
        parity = _parity_word(details.get("number_parity") or _parity(details))
        ending = f"{_separator()}{details['drawn_number']} {parity}".rstrip()
    elif isinstance(moves, list) and moves:
        ending = _separator() + ngettext("%(count)d move", "%(count)d moves", len(moves)) % {"count": len(moves)}
    played_out = status in ("WIN", "DRAW")
    return corrections.result(status, winner, faults) + (ending if played_out else "")


def _separator() -> str:
    """A separator dot. In a right-to-left language with a mark, or "P01 · 8" would be laid out from left to right."""
    return "\u200f · " if get_language_bidi() else " · "


def drawn_parity(details: Mapping[str, Any]) -> str:
    """The text under a drawn number: its parity, or the sum that it belongs to."""
    if isinstance(details.get("sum"), int):
        return _("sum %(sum)d %(parity)s") % {"sum": details["sum"], "parity": _parity_word(details.get("sum_parity"))}
    return _parity_word(details.get("number_parity"))


def _parity_word(parity: object) -> str:
    return {"even": _("even"), "odd": _("odd")}.get(str(parity), "")


def _parity(details: Mapping[str, Any]) -> str:
    number = details["drawn_number"]
    return ("even", "odd")[number % 2] if isinstance(number, int) else ""


def fault_sentence(fault: Mapping[str, Any]) -> str:
    """A fault in a sentence without a full stop; if too little is known, the referee's own sentence."""
    if fault["error_code"] == "E005" and fault.get("cause"):
        return _("%(player)s is shut down after too many silences: not called") % {"player": fault["player_id"]}
    if fault.get("cause") and fault.get("limit_s") is not None:
        return describe({**fault, "detail": sentence_of(fault.get("note") or fault.get("detail"))}, _)
    names = {"player": fault["player_id"], "cause": corrections.fault_cause(fault.get("cause", ""))}
    return (
        sentence_of(fault["sentence"]) or (_("%(player)s lost: %(cause)s") if names["cause"] else "%(player)s") % names
    )
