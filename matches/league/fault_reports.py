"""Whose fault a lost point is, as the league keeps it: read from reports, or taken over from an earlier match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from agents_registry.models import Agent
from league_sdk.protocol import notes
from league_sdk.protocol.faults import Cause, of_error
from league_sdk.protocol.states import ResultStatus
from matches.models import Match

MOST_FAULTS = 10
MOST_TRIES = 1000
LONGEST_LIMIT_S = 86_400.0
_CAUSES = frozenset(Cause)


def read_faults(value: object, *, status: str, winner: str | None, players: tuple[str, str]) -> list[dict[str, Any]]:
    """The faults of a result report, each with a cause; what is not of the form is left out.

    A student's referee may say little: then the error code tells the cause, and who lost without play and
    without a word about it has lost through its referee.

    Args:
        value: ``faults`` as reported.
        status: of the result.
        winner: its id, if somebody won.
        players: the ids of PLAYER_A and PLAYER_B.
    """
    given = value[:MOST_FAULTS] if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else []
    found = [_read(one) for one in given if isinstance(one, Mapping) and one.get("player_id") in players]
    if status == ResultStatus.TECHNICAL_LOSS:
        told = {one["player_id"] for one in found}
        found += [_read({"player_id": one, "tries": 0}) for one in players if one != winner and one not in told]
    return found


def _read(fault: Mapping[str, Any]) -> dict[str, Any]:
    cause, tries, limit_s = fault.get("cause"), fault.get("tries"), fault.get("limit_s")
    counted = isinstance(tries, int) and not isinstance(tries, bool) and 0 <= tries <= MOST_TRIES
    timed = isinstance(limit_s, (int, float)) and not isinstance(limit_s, bool) and 0 < limit_s <= LONGEST_LIMIT_S
    return {
        "player_id": fault["player_id"],
        "error_code": _words(fault, "error_code", 8),
        "message_type": _words(fault, "message_type", 40),
        "tries": tries if counted else 1,
        "cause": cause if isinstance(cause, str) and cause in _CAUSES else of_error(fault.get("error_code")),
        "limit_s": limit_s if timed else None,
        **_detail(fault),
        "sentence": _words(fault, "sentence", 300),
    }


def _detail(fault: Mapping[str, Any]) -> dict[str, Any]:
    """What was seen instead of an answer, as everybody may read it: in English, and as the note that it is."""
    said = notes.read(fault.get("note") or _words(fault, "detail", 200))
    if isinstance(said, str):
        return {"detail": said[:200]}
    shown = said.public
    return {"detail": str(shown)[:200], "note": shown.to_json()} if shown is not None else {"detail": ""}


def _words(fault: Mapping[str, Any], name: str, most: int) -> str:
    value = fault.get(name)
    return value[:most] if isinstance(value, str) else ""


def not_called(player: Agent) -> dict[str, Any]:
    """The fault of a player that is SHUTDOWN: what it was shut down for is why it loses this match, too."""
    return {
        "player_id": player.code,
        "error_code": "E005",
        "message_type": "GAME_INVITATION",
        "tries": 0,
        "cause": _last_cause(player),
        "limit_s": None,
        "detail": "",
        "sentence": f"{player.code} is shut down",
    }


def _last_cause(player: Agent) -> Cause:
    # Not by the state, which would have SQLite go through all that was ever played.
    played = Match.objects.filter(Q(player_a=player) | Q(player_b=player), finished_at__isnull=False)
    for faults in played.exclude(faults=[]).order_by("-finished_at", "-pk").values_list("faults", flat=True)[:20]:
        own = [fault for fault in faults if fault.get("player_id") == player.code]
        if own and own[-1].get("cause") in _CAUSES:
            return Cause(own[-1]["cause"])
    return Cause.DEADLINE
