"""Events in sentences, for the feeds, the replay and the papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import get_language_bidi
from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from matches.events.registry import EVENTS
from matches.words import corrections, states


def happened(kind: str, data: Mapping[str, Any]) -> str:
    """An event in a sentence. A result is told in our words, not in those of the referee that reported it.

    Args:
        kind: as it is stored; one that has no words (``matches/events/registry.py``) is named as it is.
        data: what is stored of it.
    """
    row = EVENTS.get(kind)
    if row is None or not row.words:
        return str(kind)
    more = _MORE[kind](data) if kind in _MORE else {}
    return _(row.words) % {**_kept_apart(data), **more}


def _finished(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"summary": states.result_summary(data["status"], data["winner_id"], data["details"])}


def _completed(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": (data.get("champion") or {}).get("display_name", "–")}


_MORE: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    EventKind.MATCH_FINISHED: _finished,
    EventKind.LEAGUE_COMPLETED: _completed,
    EventKind.CORRECTED: lambda data: {"sentence": corrections.correction_event(data)},
    EventKind.CORRECTION_UNDONE: lambda data: {"sentence": corrections.correction_event(data, undone=True)},
}
"""What stands in the words of an event beside its fields."""


def _kept_apart(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Names as they are, also in right-to-left text, where their last marks would change sides."""
    if not get_language_bidi() or "name" not in data:
        return data
    return {**data, "name": f"\u2068{data['name']}\u2069"}
