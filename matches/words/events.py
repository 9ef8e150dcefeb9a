"""Events in sentences, for feeds, the replay and exported papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated
from league_sdk.ledger.kinds import EventKind
from matches.events import registry
from matches.words import corrections, match, states

MAX_NAMED = 4
"""How many champions a sentence names at most."""


def happened(kind: str, data: Mapping[str, Any]) -> str:
    """An event in a sentence. Results are worded by us, not quoted from the referee's report.

    Args:
        kind: as stored; if it has no words in ``matches/events/registry.py``, the kind itself is returned.
        data: as stored.
    """
    row = registry.find(kind)
    if row is None or not row.words:
        return str(kind)
    extra = _EXTRA_VALUES[kind](data) if kind in _EXTRA_VALUES else {}
    return (_(row.words) % {**_with_isolated_words(data), **extra}).rstrip()


def _finished(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"summary": states.result_summary(data["status"], data["winner_id"], data["details"], data["faults"])}


def _completed(data: Mapping[str, Any]) -> dict[str, Any]:
    # Events of earlier versions have no list of champions.
    champions = data.get("champions", [data.get("champion") or {}])
    # Earlier versions named everybody champion of a table of zeros.
    names = [isolated(str(row.get("display_name", "–"))) for row in champions if row.get("points", 0) > 0]
    if not names:
        return {"champions_named": "" if champions else states.no_champion()}
    named, unnamed = ", ".join(names[:MAX_NAMED]), len(names) - MAX_NAMED
    if unnamed > 0:
        named = ngettext("%(players)s and %(count)d more", "%(players)s and %(count)d more", unnamed) % {
            "players": named,
            "count": unnamed,
        }
    sentence = ngettext("Champion: %(names)s.", "Champions: %(names)s.", len(names)) % {"names": named}
    return {"champions_named": sentence}


_EXTRA_VALUES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    EventKind.MATCH_FINISHED: _finished,
    EventKind.ATTEMPT_LOST: lambda data: {"why": match.reason_lost(data)},
    EventKind.LEAGUE_COMPLETED: _completed,
    EventKind.CORRECTED: lambda data: {"sentence": corrections.correction_event(data)},
    EventKind.CORRECTION_UNDONE: lambda data: {"sentence": corrections.correction_event(data, undone=True)},
}
"""For a kind whose sentence has placeholders that are not fields of the event: a function that returns their values."""


def _with_isolated_words(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Isolate what people wrote: otherwise its last punctuation mark would move to the other side of the line."""
    return {**data, **{name: isolated(data[name]) for name in ("name", "text") if name in data}}
