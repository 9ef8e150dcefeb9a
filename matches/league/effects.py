"""What every change sets off: an event on the record, and after commit a push and a nudge."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from matches import live
from matches.models import Event, League
from matches.nudge import nudge


def record(league_id: str, kind: str, /, **data: Any) -> None:
    """Write an event with the league's next number. Call inside the change's transaction."""
    League.objects.filter(pk=league_id).update(event_seq=F("event_seq") + 1)
    seq = League.objects.values_list("event_seq", flat=True).get(pk=league_id)
    Event.objects.create(league_id=league_id, seq=seq, kind=kind, data=data, at=timezone.now())


def changed(league_id: str, *match_ids: str, urgent: bool = True) -> None:
    """After commit: browsers on this league (and on these matches) hear of it, the conductor looks."""
    shown(league_id, *match_ids)
    transaction.on_commit(lambda: nudge(urgent=urgent))


def shown(league_id: str, *match_ids: str) -> None:
    """After commit: browsers hear of it. For changes through which nothing falls due: the conductor may sleep on."""
    transaction.on_commit(lambda: live.push(league_id, match_ids))
