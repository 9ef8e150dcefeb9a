"""Every kind of event, and which of its fields anyone may read. Pure.

Digests are made of this division, so it is a format: a name is never taken off a kind here, and one is added only if
no event of an older site has it. Personal facts (who has which role, reasons and announcements that people wrote,
causes that quote an address) are private: they are committed by a salted hash and can be erased. What else a site
keeps of each kind, says of it and makes of it is in its ``matches/events/registry.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import UnionType
from typing import Self

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
    "play": int,
    "draw_seed": str,
    "seal_sha256": str,
    "sealed_attempt": int | None,
}
"""What of a result is public as it stands; the number drawn and both choices come from its details."""
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
    "draw_commitments": dict,
    "plays": dict,
}
_ATTEMPT: Fields = {"match_id": str, "attempt": int, "referee_id": str}
_PLAYER: Fields = {"player_id": str, "name": str}


class EventKind(StrEnum):
    """The kinds, each as it is stored, with its public fields as ``public``."""

    public: Fields

    def __new__(cls, name: str, public: Fields | None = None) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.public = name, public or {}
        return kind

    LEAGUE_CREATED = "league_created", {"scoring": dict, "game_type": str}
    LOBBY_JOINED = "lobby_joined", {"players": int}
    PLAYER_REGISTERED = "player_registered", _PLAYER
    PLAYER_ADDED = "player_added", _PLAYER
    LEFT_OUT = "left_out", {"players": str}
    SCHEDULE_MADE = "schedule_made", {"players": int, "rounds": int, "scoring": dict, "game_type": str, "names": dict}
    SETTINGS_CHANGED = "settings_changed", {"scoring": dict}
    AUTO_ADVANCE_ON = "auto_advance_on"
    ROUND_STARTED = "round_started", {"round_id": int, "draw_commitments": dict}
    DRAW_COMMITTED = "draw_committed", {"match_id": str, "draw_commitments": dict, "plays": dict}
    ROUND_OPENED = "round_opened", {"round_id": int}
    ROUND_COMPLETED = "round_completed", {"round_id": int}
    MATCH_FINISHED = "match_finished", _RESULT
    ATTEMPT_LOST = "attempt_lost", _ATTEMPT
    MATCH_HELD = "match_held", _ATTEMPT
    MATCH_RELEASED = "match_released", {"match_id": str}
    PAUSED = "paused"
    RESUMED = "resumed"
    PLAYED_AGAIN = "played_again", {"match_id": str, "champion": dict | None}
    LEAGUE_COMPLETED = "league_completed", {"champion": dict | None}
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
"""A correction and its undoing: both say what holds afterwards."""
