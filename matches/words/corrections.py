"""What the instructor corrected, in sentences, for everybody: what was done, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from league_sdk.protocol.states import MatchState
from matches.league.corrections.plans import DISQUALIFY, KEEP, LOSE, POINTS, REPLAY, SET_RESULT, VOID, WITHDRAW, Plan
from matches.view.sight import View


def kind_label(kind: str) -> str:
    """A kind of correction, as on a button."""
    return {
        VOID: _("Void a match"),
        REPLAY: _("Play a match again"),
        SET_RESULT: _("Set a result by hand"),
        WITHDRAW: _("Withdraw a player"),
        DISQUALIFY: _("Disqualify a player"),
        POINTS: _("Award or take points"),
    }[kind]


def result(status: str, winner: str | None) -> str:
    """A result without how the game went, in a few words."""
    if status == "WIN":
        return _("%(player)s won") % {"player": winner}
    if status == "DRAW":
        return _("draw")
    if status == "TECHNICAL_LOSS":
        return _("%(player)s won (technical)") % {"player": winner} if winner else _("both absent")
    return _("cancelled")


def correction_event(data: Mapping[str, Any], *, undone: bool = False) -> str:
    """A correction, or its undoing, in a sentence with its reason.

    Args:
        data: of the event ``corrected`` or ``correction_undone``.
        undone: whether it is the second.
    """
    names = _names(data)
    sentence = (_UNDONE if undone else _DONE)[data["kind"]](data) % names
    return _with_reason(sentence, data["reason"])


def _with_reason(sentence: str, reason: str) -> str:
    """The reason is quoted as it was given, with one full stop at the end."""
    return _("%(sentence)s: %(reason)s") % {"sentence": sentence, "reason": reason.rstrip(".")} + "."


def _names(data: Mapping[str, Any]) -> dict[str, Any]:
    outcome = data["results"].get(data["match_id"]) or {}
    return {
        "number": data["number"],
        "match": " ".join([data["match_id"], "–".join(data["players"])]).strip(),
        "player": data["player_id"],
        "points": abs(data["points"].get(data["player_id"], 0)),
        "result": result(outcome["status"], outcome["winner_id"]) if outcome else "",
    }


def _taken_out(data: Mapping[str, Any]) -> str:
    whole = {
        (WITHDRAW, KEEP): _("%(player)s was withdrawn by the instructor, matches not yet played are lost"),
        (WITHDRAW, VOID): _("%(player)s was withdrawn by the instructor, all its matches are void"),
        (WITHDRAW, LOSE): _("%(player)s was withdrawn by the instructor, all its matches are lost"),
        (DISQUALIFY, KEEP): _("%(player)s was disqualified by the instructor, matches not yet played are lost"),
        (DISQUALIFY, VOID): _("%(player)s was disqualified by the instructor, all its matches are void"),
        (DISQUALIFY, LOSE): _("%(player)s was disqualified by the instructor, all its matches are lost"),
    }
    return whole[data["kind"], data["matches_become"]]


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


def change_lines(plan: Plan) -> list[dict[str, str]]:
    """What a plan makes of each match, in words: ``match_id``, ``players``, ``was``, ``becomes``."""
    return [
        {
            "match_id": change.known.match_id,
            "players": "–".join(change.known.players),
            "was": _counting(change.known.outcome, change.known.state),
            "becomes": _counting(change.outcome, change.state),
        }
        for change in plan.changes
    ]


def _counting(outcome: Mapping[str, Any] | None, state: str) -> str:
    if outcome is not None:
        return result(outcome["status"], outcome["winner_id"])
    return _("held") if state == MatchState.HELD else _("to be played")


def corrections_of(view: View, *, match_id: str | None = None, player_id: str | None = None) -> list[dict[str, Any]]:
    """The corrections that an audience may see, the newest first, for pages.

    Each is what its event tells, with ``sentence`` (reason included) and ``url`` (of the match, or None).

    Args:
        match_id: only those that changed this match.
        player_id: only those that are about this player, or about a match of it.
    """
    found = []
    for _number, data in sorted(view.moment.corrections.items(), reverse=True):
        if match_id is not None and match_id not in data["results"]:
            continue
        if player_id is not None and player_id not in _players(data):
            continue
        url = reverse("match", args=[view.league.pk, data["match_id"]]) if data["match_id"] else None
        found.append({**data, "sentence": correction_event(data), "url": url})
    return found


def _players(data: Mapping[str, Any]) -> set[str]:
    in_results = {player for one in data["results"].values() if one for player in one["players"]}
    return in_results | set(data["players"]) | {data["player_id"]}
