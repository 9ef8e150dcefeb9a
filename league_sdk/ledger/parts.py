"""What of an event anyone may read, and what is private, as its kind says (``kinds``). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from league_sdk.ledger.canonical import plain
from league_sdk.ledger.kinds import CORRECTIONS, EventKind, Fields

_FROM_DETAILS = ("drawn_number", "choices")
"""What is public of a result's details."""
_SAME_KIND: Mapping[str, str] = {EventKind.NOTICE_WITHDRAWN: EventKind.NOTICE}
"""An announcement that is withdrawn stays the event that it was: only its words are erased."""
_PUBLIC: Mapping[str, Fields] = {kind: kind.public for kind in EventKind}
"""A kind that this version does not know has no public fields."""


def public_part(league_id: str, seq: int, kind: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    """What anyone may read of an event.

    Args:
        league_id: the league's id.
        seq: the event's number in its league.
        kind: its kind, as it is stored.
        at: when it happened, with a time zone.
        data: all that is stored of it.
    """
    shown = {name: data[name] for name in _PUBLIC.get(kind, {}) if name in data}
    if kind == EventKind.MATCH_FINISHED:
        shown |= _from_details(data)
    results = data.get("results")
    if kind in CORRECTIONS and isinstance(results, Mapping):
        shown["results"] = {match_id: _result(result) for match_id, result in results.items()}
    moment = at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    kind = str(_SAME_KIND.get(kind, kind))
    return {"league_id": league_id, "seq": seq, "kind": kind, "at": moment, "data": plain(shown)}


def private_part(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of an event: committed by a salted hash, never shown with the public part."""
    public = _PUBLIC.get(kind, {})
    left: dict[str, Any] = plain({name: value for name, value in data.items() if name not in public})
    return left


def _result(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    return {name: data[name] for name in EventKind.MATCH_FINISHED.public if name in data} | _from_details(data)


def _from_details(data: Mapping[str, Any]) -> dict[str, Any]:
    details = data.get("details")
    if not isinstance(details, Mapping):
        return {}
    return {name: details[name] for name in _FROM_DETAILS if name in details}
