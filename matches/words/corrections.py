"""The instructor's corrections in sentences, with their reasons; everybody may read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from typing_extensions import TypedDict

from agents_registry.isolating import isolated
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.schemas.parts import says
from league_sdk.protocol.states import MatchState
from matches.league.corrections.plans import DISQUALIFY, KEEP, LOSE, POINTS, REPLAY, SET_RESULT, VOID, WITHDRAW, Plan
from matches.view.sight import View

_SILENCES = frozenset({Cause.DEADLINE, Cause.CONNECT, Cause.NAME_LOOKUP})
"""The causes of a player's silence."""


def kind_label(kind: str) -> str:
    """The label of a kind of correction, as on a button."""
    return {
        VOID: _("Void a match"),
        REPLAY: _("Play a match again"),
        SET_RESULT: _("Set a result by hand"),
        WITHDRAW: _("Withdraw a player"),
        DISQUALIFY: _("Disqualify a player"),
        POINTS: _("Award or take points"),
    }[kind]


def result(status: str, winner: str | None, faults: Sequence[Mapping[str, Any]] = ()) -> str:
    """A result in a few words, without details of the game.

    Args:
        faults: the faults of the result; they explain a match that both players lost.
    """
    if status == "WIN":
        return _("%(player)s won") % {"player": winner}
    if status == "DRAW":
        return _("draw")
    if status == "TECHNICAL_LOSS":
        return _("%(player)s won (technical)") % {"player": winner} if winner else _both_lost(faults)
    return _("cancelled")


def _both_lost(faults: Sequence[Mapping[str, Any]]) -> str:
    causes = {str(fault["player_id"]): str(fault.get("cause") or "") for fault in faults}
    if causes and set(causes.values()) <= _SILENCES:
        return _("both absent")
    named = [f"{player}: {fault_cause(cause)}" for player, cause in causes.items() if fault_cause(cause)]
    return _("both lost (%(why)s)") % {"why": ", ".join(named)} if named else _("both lost (technical)")


def fault_cause(cause: str) -> str:
    """The cause of a lost point in a word or two; empty for an unknown cause."""
    words: dict[str, str] = {
        Cause.NAME_LOOKUP: _("name lookup"),
        Cause.CONNECT: _("connection"),
        Cause.HTTP_STATUS: _("HTTP status"),
        Cause.NOT_JSON: _("not JSON"),
        Cause.WRONG_MESSAGE: _("wrong message"),
        Cause.ILLEGAL_MOVE: _("illegal move"),
        Cause.DEADLINE: _("deadline"),
        Cause.REFEREE: _("referee"),
        Cause.LEAGUE: _("league"),
    }
    return words.get(cause, "")


def correction_event(data: Mapping[str, Any], *, undone: bool = False) -> str:
    """A correction, or its undo, in a sentence with its reason.

    Args:
        data: the data of the event ``corrected`` or ``correction_undone``.
        undone: whether the event is ``correction_undone``.
    """
    names = _names(data)
    sentence = (_UNDONE if undone else _DONE)[data["kind"]](data) % names
    return _with_reason(sentence, data["reason"])


def _with_reason(sentence: str, reason: str) -> str:
    """Append the reason as it was typed, ending with exactly one full stop."""
    return _("%(sentence)s: %(reason)s") % {"sentence": sentence, "reason": isolated(reason.rstrip("."))} + "."


def _names(data: Mapping[str, Any]) -> dict[str, Any]:
    outcome = data["results"].get(data["match_id"]) or {}
    return {
        "number": data["number"],
        "match": " ".join([data["match_id"], "–".join(data["players"])]).strip(),
        "player": data["player_id"],
        "points": abs(data["points"].get(data["player_id"], 0)),
        "result": result(outcome["status"], outcome["winner_id"], outcome["faults"]) if outcome else "",
    }


def _taken_out(data: Mapping[str, Any]) -> str:
    sentences = {
        (WITHDRAW, KEEP): _("%(player)s was withdrawn by the instructor, matches not yet played are lost"),
        (WITHDRAW, VOID): _("%(player)s was withdrawn by the instructor, all its matches are void"),
        (WITHDRAW, LOSE): _("%(player)s was withdrawn by the instructor, all its matches are lost"),
        (DISQUALIFY, KEEP): _("%(player)s was disqualified by the instructor, matches not yet played are lost"),
        (DISQUALIFY, VOID): _("%(player)s was disqualified by the instructor, all its matches are void"),
        (DISQUALIFY, LOSE): _("%(player)s was disqualified by the instructor, all its matches are lost"),
    }
    return sentences[data["kind"], data["matches_become"]]


def _points(data: Mapping[str, Any]) -> str:
    count = data["points"][data["player_id"]]
    if count > 0:
        return ngettext(
            "%(player)s was given %(points)d point by the instructor",
            "%(player)s was given %(points)d points by the instructor",
            count,
        )
    return ngettext(
        "%(player)s had %(points)d point taken by the instructor",
        "%(player)s had %(points)d points taken by the instructor",
        -count,
    )


_DONE = {
    VOID: lambda data: _("%(match)s was voided by the instructor"),
    REPLAY: lambda data: _("%(match)s is played again, as the instructor decided"),
    SET_RESULT: lambda data: _("The result of %(match)s was set by the instructor (%(result)s)"),
    WITHDRAW: _taken_out,
    DISQUALIFY: _taken_out,
    POINTS: _points,
}
_UNDONE = {
    VOID: lambda data: _("%(match)s is void no more (%(result)s), correction #%(number)d was undone"),
    REPLAY: lambda data: _("%(match)s counts as it did before it was played again, correction #%(number)d was undone"),
    SET_RESULT: lambda data: _("The result of %(match)s is as it was, correction #%(number)d was undone"),
    WITHDRAW: lambda data: _("%(player)s is in the league again, correction #%(number)d was undone"),
    DISQUALIFY: lambda data: _("%(player)s is in the league again, correction #%(number)d was undone"),
    POINTS: lambda data: _("The points of %(player)s are as they were, correction #%(number)d was undone"),
}


class ChangeRow(TypedDict):
    """How a correction changes a match, in words."""

    match_id: Annotated[str, says("The match.")]
    players: Annotated[str, says("The ids of its players, such as P01–P02.")]
    was: Annotated[str, says("How it counts now.")]
    becomes: Annotated[str, says("How it would count.")]


def change_rows(plan: Plan) -> list[ChangeRow]:
    """How a plan changes each match, in words."""
    return [
        {
            "match_id": change.match.match_id,
            "players": "–".join(change.match.player_ids),
            "was": _counting(change.known.outcome, change.match.state),
            "becomes": _counting(change.outcome, change.state),
        }
        for change in plan.changes
    ]


def _counting(outcome: Mapping[str, Any] | None, state: str) -> str:
    if outcome is not None:
        return result(outcome["status"], outcome["winner_id"], outcome["faults"])
    return _("held") if state == MatchState.HELD else _("to be played")


def corrections_of(view: View, *, match_id: str | None = None, player_id: str | None = None) -> list[dict[str, Any]]:
    """The corrections that an audience may see, the newest first.

    Each is the data of its event with ``sentence`` (which has the reason) and ``url`` (of the match, or None).

    Args:
        match_id: only those that changed this match.
        player_id: only those about this player or one of its matches.
    """
    visible = []
    for _number, data in sorted(view.moment.corrections.items(), reverse=True):
        if match_id is not None and match_id not in data["results"]:
            continue
        if player_id is not None and player_id not in _players(data):
            continue
        url = reverse("match", args=[view.league.pk, data["match_id"]]) if data["match_id"] else None
        visible.append({**data, "sentence": correction_event(data), "url": url})
    return visible


def _players(data: Mapping[str, Any]) -> set[str]:
    in_results = {player for outcome in data["results"].values() if outcome for player in outcome["players"]}
    return in_results | set(data["players"]) | {data["player_id"]}
