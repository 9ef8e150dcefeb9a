"""What every change sets off: an event on the record, and after commit a push and a nudge."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from league_sdk.ledger import chain
from league_sdk.ledger.kinds import EventKind
from matches.events import registry
from matches.models import Event, League
from matches.observing import telemetry
from matches.push import notify
from matches.push.nudge import nudge
from storage.prepared import Prepared, Sql, insert, swap

_SAME = Sql("event_seq")
_HEAD = Prepared(lambda *, pk: League.objects.filter(pk=pk).only("event_seq", "ledger_head"), pk=str)


def record(league_id: str, kind: EventKind, /, **data: Any) -> None:
    """Write an event with the league's next number and its digest. Call inside the change's transaction.

    Changes: the event, and the league's number and head, which holds the league's row until the end.

    Raises:
        TypeError: a field is not one of the kind's, or of another type.
    """
    registry.check(kind, data)
    at, salt = timezone.now(), os.urandom(chain.SALT_BYTES).hex()
    link = _append(league_id, salt, kind, at, data)
    if link is None:
        # PostgreSQL only: another event came between. With the row held, no other one can.
        swap(League, {"event_seq": _SAME}, pk=league_id)
        link = _append(league_id, salt, kind, at, data)
    if link is None:
        raise League.DoesNotExist(league_id)
    row = (league_id, link.public["seq"], kind, data, at, link.digest, salt)
    insert(Event, ("league_id", "seq", "kind", "data", "at", "digest", "salt"), [row])
    telemetry.happened(league_id, kind, data)


def _append(league_id: str, salt: str, kind: str, at: datetime, data: dict[str, Any]) -> chain.Link | None:
    """Move the league's head to an event; None when it had moved meanwhile."""
    head = _HEAD.one(pk=league_id)
    if head is None:
        raise League.DoesNotExist(league_id)
    # A head that was tampered with ends no league: the chain no longer holds, and that is found.
    before = head.ledger_head if chain.is_hash(head.ledger_head) else ""
    link = chain.link(before, salt, league_id=league_id, seq=head.event_seq + 1, kind=kind, at=at, data=data)
    news = {"event_seq": head.event_seq + 1, "ledger_head": link.digest}
    return link if swap(League, news, pk=league_id, event_seq=head.event_seq) else None


def changed(league_id: str, *match_ids: str, urgent: bool = True) -> None:
    """After commit: browsers on this league (and on these matches) hear of it, the conductor looks."""
    shown(league_id, *match_ids)
    transaction.on_commit(lambda: nudge(urgent=urgent))


def shown(league_id: str, *match_ids: str) -> None:
    """After commit: browsers hear of it. For changes through which nothing falls due: the conductor may sleep on."""
    transaction.on_commit(lambda: notify.push(league_id, match_ids))
