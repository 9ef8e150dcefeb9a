"""Faults, which say whose fault a lost point is: read from reports, or taken over from an earlier match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from agents_registry.models import Agent
from league_sdk.protocol import notes
from league_sdk.protocol.faults import Cause, of_error
from league_sdk.protocol.own_words import MAX_RAW_CHARS, clean_words
from league_sdk.protocol.states import ResultStatus
from matches.models import Match

SILENT = frozenset({"E001", "E009"})
"""The error codes of a player that did not answer: out of time, and no connection."""
MAX_FAULTS = 10
MAX_TRIES = 1000
MAX_LIMIT_S = 86_400.0
_CAUSES = frozenset(Cause)


def read_faults(value: object, *, status: str, winner: str | None, players: tuple[str, str]) -> list[dict[str, Any]]:
    """Read the faults of a result report, each with a cause; malformed ones are left out.

    A student's referee may leave fields out. A missing cause is derived from the error code. Faults of whoever wins or
    draws are dropped (ruling, section 9). In a technical loss a player that did not win and has no fault gets one whose
    cause is the referee.

    Args:
        value: ``faults`` as reported.
        status: the status of the result.
        winner: the winner's id, if there is one.
        players: the ids of PLAYER_A and PLAYER_B.
    """
    reported = value[:MAX_FAULTS] if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else []
    losers = [player for player in players if player != winner and status != ResultStatus.DRAW]
    faults = [_read(fault) for fault in reported if isinstance(fault, Mapping) and fault.get("player_id") in losers]
    if status == ResultStatus.TECHNICAL_LOSS:
        blamed = {fault["player_id"] for fault in faults}
        faults += [_read({"player_id": player, "tries": 0}) for player in losers if player not in blamed]
    return faults


def _read(fault: Mapping[str, Any]) -> dict[str, Any]:
    cause, tries, limit_s = fault.get("cause"), fault.get("tries"), fault.get("limit_s")
    valid_tries = isinstance(tries, int) and not isinstance(tries, bool) and 0 <= tries <= MAX_TRIES
    valid_limit = isinstance(limit_s, (int, float)) and not isinstance(limit_s, bool) and 0 < limit_s <= MAX_LIMIT_S
    return {
        "player_id": fault["player_id"],
        "error_code": _words(fault, "error_code", 8),
        "message_type": _words(fault, "message_type", 40),
        "tries": tries if valid_tries else 1,
        "cause": cause if isinstance(cause, str) and cause in _CAUSES else of_error(fault.get("error_code")),
        "limit_s": limit_s if valid_limit else None,
        **_detail(fault),
        "sentence": _words(fault, "sentence", 300),
        **({"said": own_words} if (own_words := clean_words(_words(fault, "said", MAX_RAW_CHARS))) else {}),
    }


def split_own_words(faults: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Split faults into what everybody may read, and the players' own words by id, for owner and staff only."""
    own_words = {str(fault["player_id"]): str(fault["said"]) for fault in faults if fault.get("said")}
    return [{name: value for name, value in fault.items() if name != "said"} for fault in faults], own_words


def _detail(fault: Mapping[str, Any]) -> dict[str, Any]:
    """What was seen instead of an answer, as everybody may read it: an English sentence, and its note if it has one."""
    note = notes.read(fault.get("note") or _words(fault, "detail", 200))
    if isinstance(note, str):
        return {"detail": note[:200]}
    shown = note.public
    return {"detail": str(shown)[:200], "note": shown.to_json()} if shown is not None else {"detail": ""}


def _words(fault: Mapping[str, Any], name: str, max_chars: int) -> str:
    value = fault.get(name)
    return value[:max_chars] if isinstance(value, str) else ""


def not_called(player: Agent) -> dict[str, Any]:
    """The fault of a player that is SHUTDOWN; its cause is that of the player's last fault, if one is found."""
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
    # Filter by the time, not by the state FINISHED, for which SQLite would scan all matches ever played.
    played = Match.objects.filter(Q(player_a=player) | Q(player_b=player), finished_at__isnull=False)
    # What a student's referee said of the player holds for that match only.
    played = played.exclude(referee__site_key=False)
    for faults in played.exclude(faults=[]).order_by("-finished_at", "-pk").values_list("faults", flat=True)[:20]:
        own = [fault for fault in faults if fault.get("player_id") == player.code]
        if own and own[-1].get("cause") in _CAUSES:
            return Cause(own[-1]["cause"])
    return Cause.DEADLINE
