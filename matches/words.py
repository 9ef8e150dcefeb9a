"""States, results and events in words, for people, in their language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.models import Round

SILENT_EVENTS = ("settings_changed", "match_finished")
"""Events that the feed leaves out: results have a list of their own."""


def league_state(state: str) -> str:
    """A league's state."""
    return {
        LeagueState.REGISTRATION: _("registration open"),
        LeagueState.SCHEDULED: _("scheduled"),
        LeagueState.RUNNING: _("running"),
        LeagueState.COMPLETED: _("completed"),
        LeagueState.STOPPED: _("stopped"),
    }[LeagueState(state)]


def match_state(state: str, board: Mapping[str, Any] | None = None) -> str:
    """A match's state; while a game is played in turns, whose turn it is."""
    if state == MatchState.COLLECTING_CHOICES and board is not None and board["to_move"]:
        return _("%(player)s to move") % {"player": board["to_move"]}
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


def headline(league: Mapping[str, Any], current: Round | None, held: int, auto_advance: bool) -> str:
    """One sentence: what is happening now, and why nothing is if nothing is."""
    state = league["state"]
    if state == LeagueState.REGISTRATION:
        return ngettext(
            "Registration is open: %(count)d player so far.",
            "Registration is open: %(count)d players so far.",
            league["players_count"],
        ) % {"count": league["players_count"]}
    if state == LeagueState.STOPPED:
        return _("The league was stopped.")
    if state == LeagueState.COMPLETED:
        return _("The league is over: all %(count)d matches are played.") % {"count": league["matches_total"]}
    if league["paused"]:
        return _("Paused: no match starts until the instructor resumes the league.")
    if current is None:
        return _("The schedule is made: round 1 starts when the instructor starts it.")
    numbers = {"round": current.number, "next": current.number + 1}
    if current.state == RoundState.ANNOUNCING:
        return _("Round %(round)d is being announced to the players.") % numbers
    if current.state == RoundState.COMPLETED:
        if auto_advance:
            return _("Round %(round)d is over: round %(next)d follows at once.") % numbers
        return _("Round %(round)d is over: round %(next)d starts when the instructor starts it.") % numbers
    if held:
        return ngettext(
            "%(count)d match is held: the instructor decides what becomes of it.",
            "%(count)d matches are held: the instructor decides what becomes of them.",
            held,
        ) % {"count": held}
    left = league["round_total"] - league["round_done"]
    if left and league["round_waiting"] == left:
        return _("Waiting for a referee: as soon as one is there, round %(round)d is played.") % numbers
    return ngettext(
        "Round %(round)d is being played: %(left)d match to go.",
        "Round %(round)d is being played: %(left)d matches to go.",
        left,
    ) % {"round": current.number, "left": left}


def result_summary(status: str, winner: str | None, details: Mapping[str, Any]) -> str:
    """A result in a few words, such as "P01 won · 8 even" or "P02 won · 9 moves"."""
    drawn, moves = "", details.get("moves")
    if isinstance(details.get("sum"), int):
        drawn = f" · {details['sum']} {_parity_word(details.get('sum_parity'))}".rstrip()
    elif details.get("drawn_number") is not None:
        parity = _parity_word(details.get("number_parity") or _parity(details))
        drawn = f" · {details['drawn_number']} {parity}".rstrip()
    elif isinstance(moves, list) and moves:
        drawn = " · " + ngettext("%(count)d move", "%(count)d moves", len(moves)) % {"count": len(moves)}
    if status == "WIN":
        return _("%(player)s won") % {"player": winner} + drawn
    if status == "DRAW":
        return _("draw") + drawn
    if status == "TECHNICAL_LOSS":
        if winner is None:
            return _("both absent")
        return _("%(player)s won by technical loss") % {"player": winner}
    return _("cancelled")


def drawn_parity(details: Mapping[str, Any]) -> str:
    """What stands under a number that was drawn: its parity, or the sum it is a part of."""
    if isinstance(details.get("sum"), int):
        return _("sum %(sum)d %(parity)s") % {"sum": details["sum"], "parity": _parity_word(details.get("sum_parity"))}
    return _parity_word(details.get("number_parity"))


def _parity_word(parity: object) -> str:
    return {"even": _("even"), "odd": _("odd")}.get(str(parity), "")


def _parity(details: Mapping[str, Any]) -> str:
    number = details["drawn_number"]
    return ("even", "odd")[number % 2] if isinstance(number, int) else ""


def event(kind: str, data: Mapping[str, Any]) -> str:
    """An event of a league in a sentence."""
    text = {
        "league_created": _("The league was opened."),
        "lobby_joined": _("%(players)s players came in from the lobby."),
        "player_registered": _("%(player_id)s %(name)s registered."),
        "player_added": _("%(player_id)s %(name)s was added by the instructor."),
        "schedule_made": _("Registration closed: %(players)s players, %(rounds)s rounds."),
        "left_out": _("Not in the schedule, as their check had not passed: %(players)s."),
        "round_started": _("Round %(round_id)s started."),
        "round_completed": _("Round %(round_id)s is over."),
        "match_finished": _("%(match_id)s is finished: %(reason)s."),
        "attempt_lost": _("%(match_id)s lost its referee %(referee_id)s (%(why)s) and is played again."),
        "match_held": _("%(match_id)s is held after three lost referees."),
        "match_released": _("%(match_id)s is released."),
        "paused": _("The league was paused."),
        "resumed": _("The league was resumed."),
        "auto_advance_on": _("From now on the rounds follow each other."),
        "league_stopped": _("The league was stopped."),
        "demo_afresh": _("The demo begins afresh."),
        "settings_changed": _("The settings were changed."),
    }.get(kind)
    if kind == "league_completed":
        champion = data.get("champion") or {}
        return _("The league is over. Champion: %(name)s.") % {"name": champion.get("display_name", "–")}
    if text is None:
        return kind
    return text % data if "%(" in text else text
