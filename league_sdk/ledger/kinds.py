"""Every kind of event, and which of its fields are public. Pure.

Digests depend on this division, so it is a file format: never remove a name from a kind, and add one only if no event
of an older site has a field of that name. Personal facts (who has which role, reasons and notices that people
wrote, causes that quote an address) are private: the chain has only a salted hash of them, so they can be erased; the
feed of events may show them. The site's ``matches/events/registry.py`` has the private fields, the sentences and the
effects of each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from types import UnionType
from typing import Any, Self

from league_sdk.ledger.canonical import plain

Fields = Mapping[str, "type | UnionType"]
"""The type of each field by name, as ``isinstance`` takes it."""

_RESULT: Fields = {
    "match_id": str,
    "round_id": int,
    "players": list,
    "status": str,
    "winner_id": str | None,
    "attempt": int,
    "referee_id": str | None,
    "correction": int | None,
    "play": int,  # 1, and one more for each replay
    "draw_seed": str,
    "seal_sha256": str,
    "sealed_attempt": int | None,
}
"""The public fields of a result; the number drawn and both choices, which are public too, stand in its details."""
_CORRECTION: Fields = {
    "number": int,
    "kind": str,
    "match_id": str,
    "player_id": str,
    "players": list,
    "matches_become": str,
    "points": dict,
    "out": dict,
    "champion": dict | None,
    "champions": list,
    "draw_commitments": dict,
    "plays": dict,
}
_ATTEMPT: Fields = {"match_id": str, "attempt": int, "referee_id": str}
_PLAYER: Fields = {"player_id": str, "name": str}


class EventKind(StrEnum):
    """The kinds; the value is stored in the database, and ``public`` has the public fields with their types."""

    public: Fields

    def __new__(cls, name: str, public: Fields | None = None) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.public = name, public or {}
        return kind

    LEAGUE_CREATED = "league_created", {"scoring": dict, "game_type": str}
    LOBBY_JOINED = "lobby_joined", {"players": int}
    PLAYER_REGISTERED = "player_registered", _PLAYER
    PLAYER_ADDED = "player_added", _PLAYER
    PLAYER_MOVED = "player_moved", _PLAYER
    CROWD_LET_IN = "crowd_let_in"
    PLAYER_RENAMED = "player_renamed", _PLAYER
    LEFT_OUT = "left_out", {"players": str}
    SCHEDULE_MADE = "schedule_made", {"players": int, "rounds": int, "scoring": dict, "game_type": str, "names": dict}
    SETTINGS_CHANGED = "settings_changed", {"scoring": dict}
    AUTO_ADVANCE_ON = "auto_advance_on"
    AUTO_ADVANCE_OFF = "auto_advance_off"
    ROUND_STARTED = "round_started", {"round_id": int, "draw_commitments": dict}
    DRAW_COMMITTED = "draw_committed", {"match_id": str, "draw_commitments": dict, "plays": dict}
    ROUND_OPENED = "round_opened", {"round_id": int}
    ROUND_COMPLETED = "round_completed", {"round_id": int}
    MATCH_FINISHED = "match_finished", _RESULT
    ATTEMPT_LOST = "attempt_lost", _ATTEMPT
    MATCH_HELD = "match_held", _ATTEMPT
    MATCH_RELEASED = "match_released", {"match_id": str}
    PAUSED = "paused"
    PAUSED_AS_ABSENT = "paused_as_absent", {"round_id": int, "absent": int, "called": int}
    RESUMED = "resumed"
    PLAYED_AGAIN = "played_again", {"match_id": str, "champion": dict | None, "champions": list}
    LEAGUE_COMPLETED = "league_completed", {"champion": dict | None, "champions": list}
    LEAGUE_STOPPED = "league_stopped"
    DEMO_AFRESH = "demo_afresh"
    FROZEN = "frozen", {"after_round": int}
    PLACE_UNVEILED = "place_unveiled", {"place": int}
    UNVEILED = "unveiled"
    NOTICE = "notice"
    NOTICE_WITHDRAWN = "notice_withdrawn"
    CORRECTED = "corrected", _CORRECTION
    CORRECTION_UNDONE = "correction_undone", _CORRECTION
    ROLE_GIVEN = "role_given"
    ROLE_TAKEN = "role_taken"
    START_PLANNED = "start_planned"
    START_CALLED_OFF = "start_called_off"
    START_FAILED = "start_failed"
    GATEWAY_CHANGED = "gateway_changed"


CORRECTIONS = (EventKind.CORRECTED, EventKind.CORRECTION_UNDONE)
"""A correction and its undoing; both contain the state after them."""

_FROM_DETAILS = ("drawn_number", "choices")
"""The public fields among a result's details."""
_SAME_KIND: Mapping[str, str] = {EventKind.NOTICE_WITHDRAWN: EventKind.NOTICE}
"""A withdrawn notice keeps its kind in the chain, so that its digest stays the same; only its text is erased."""
_PUBLIC: Mapping[str, Fields] = {kind: kind.public for kind in EventKind}
"""The public fields of each kind. A kind that this version does not know has none."""


def public_part(league_id: str, seq: int, kind: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an event that anyone may read.

    Args:
        league_id: the league's id.
        seq: the event's number in its league.
        kind: its kind, as it is stored.
        at: when it happened, with a time zone.
        data: all its stored fields.
    """
    shown = _public_fields(kind, data)
    results = data.get("results")
    if kind in CORRECTIONS and isinstance(results, Mapping):
        shown["results"] = {
            match_id: _public_fields(EventKind.MATCH_FINISHED, result) if isinstance(result, Mapping) else result
            for match_id, result in results.items()
        }
    moment = at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    kind = str(_SAME_KIND.get(kind, kind))
    return {"league_id": league_id, "seq": seq, "kind": kind, "at": moment, "data": plain(shown)}


def private_part(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not public, or only in part, like ``details``; the chain has only a salted hash of them."""
    public = _PUBLIC.get(kind, {})
    private: dict[str, Any] = plain({name: value for name, value in data.items() if name not in public})
    return private


def _public_fields(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: data[name] for name in _PUBLIC.get(kind, {}) if name in data}
    details = data.get("details")
    if kind == EventKind.MATCH_FINISHED and isinstance(details, Mapping):
        shown |= {name: details[name] for name in _FROM_DETAILS if name in details}
    return shown
