"""What every change sets off: an event on the record, and after commit a push and a nudge."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from agents_registry.prepared import Prepared, Sql, insert, swap
from matches import live, watching
from matches.models import Event, League
from matches.nudge import nudge

_NEXT = Sql("event_seq + 1")
_COUNTED = Prepared(lambda *, pk: League.objects.filter(pk=pk).only("event_seq"), pk=str)


def record(league_id: str, kind: str, /, **data: Any) -> None:
    """Write an event with the league's next number. Call inside the change's transaction."""
    swap(League, {"event_seq": _NEXT}, pk=league_id)
    counted = _COUNTED.one(pk=league_id)
    if counted is None:
        raise League.DoesNotExist(league_id)
    row = (league_id, counted.event_seq, kind, data, timezone.now(), "", "")
    insert(Event, ("league_id", "seq", "kind", "data", "at", "digest", "salt"), [row])
    watching.happened(league_id, kind, data)


def changed(league_id: str, *match_ids: str, urgent: bool = True) -> None:
    """After commit: browsers on this league (and on these matches) hear of it, the conductor looks."""
    shown(league_id, *match_ids)
    transaction.on_commit(lambda: nudge(urgent=urgent))


def shown(league_id: str, *match_ids: str) -> None:
    """After commit: browsers hear of it. For changes through which nothing falls due: the conductor may sleep on."""
    transaction.on_commit(lambda: live.push(league_id, match_ids))
