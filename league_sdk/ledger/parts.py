"""What of an event anyone may read, and what is private. Pure.

Digests are made of this division, so it is a format: a name is never taken off a list here, and one is added only if
no event of an older site has it. Personal facts (who has which role, reasons and announcements that people wrote,
causes that quote an address) are private: they are committed by a salted hash and can be erased.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from league_sdk.ledger.canonical import plain

_RESULT = (
    *("match_id", "round_id", "players", "status", "winner_id", "attempt", "referee_id", "correction"),
    *("play", "draw_seed", "seal_sha256", "sealed_attempt"),
)
"""What of a result is public as it stands; the number drawn and both choices come from its details."""
_FROM_DETAILS = ("drawn_number", "choices")
_CORRECTION = (
    *("number", "kind", "match_id", "player_id", "players", "matches_become", "points", "out", "champion"),
    *("draw_commitments", "plays"),
)
FIELDS: dict[str, tuple[str, ...]] = {
    "league_created": ("scoring", "game_type"),
    "lobby_joined": ("players",),
    "player_registered": ("player_id", "name"),
    "player_added": ("player_id", "name"),
    "left_out": ("players",),
    "schedule_made": ("players", "rounds", "scoring", "game_type", "names"),
    "settings_changed": ("scoring",),
    "round_started": ("round_id", "draw_commitments"),
    "draw_committed": ("match_id", "draw_commitments", "plays"),
    "round_opened": ("round_id",),
    "round_completed": ("round_id",),
    "match_finished": _RESULT,
    "attempt_lost": ("match_id", "attempt", "referee_id"),
    "match_held": ("match_id", "attempt", "referee_id"),
    "match_released": ("match_id",),
    "played_again": ("match_id", "champion"),
    "league_completed": ("champion",),
    "frozen": ("after_round",),
    "place_unveiled": ("place",),
    "corrected": _CORRECTION,
    "correction_undone": _CORRECTION,
}
"""The public fields of each kind; kinds that are not here have none."""
SAME_KIND = {"notice_withdrawn": "notice"}
"""An announcement that is withdrawn stays the event that it was: only its words are erased."""


def public_part(league_id: str, seq: int, kind: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    """What anyone may read of an event.

    Args:
        league_id: the league's id.
        seq: the event's number in its league.
        kind: its kind, as it is stored.
        at: when it happened, with a time zone.
        data: all that is stored of it.
    """
    shown = {name: data[name] for name in FIELDS.get(kind, ()) if name in data}
    if kind == "match_finished":
        shown |= _from_details(data)
    results = data.get("results")
    if kind in ("corrected", "correction_undone") and isinstance(results, Mapping):
        shown["results"] = {match_id: _result(result) for match_id, result in results.items()}
    moment = at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    kind = SAME_KIND.get(kind, kind)
    return {"league_id": league_id, "seq": seq, "kind": kind, "at": moment, "data": plain(shown)}


def private_part(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of an event: committed by a salted hash, never shown with the public part."""
    public = FIELDS.get(kind, ())
    left: dict[str, Any] = plain({name: value for name, value in data.items() if name not in public})
    return left


def _result(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    return {name: data[name] for name in _RESULT if name in data} | _from_details(data)


def _from_details(data: Mapping[str, Any]) -> dict[str, Any]:
    details = data.get("details")
    if not isinstance(details, Mapping):
        return {}
    return {name: details[name] for name in _FROM_DETAILS if name in details}
