"""What every change of a league does, too: record an event, and after commit tell browsers and wake the conductor."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from django.db import transaction

from league_sdk.ledger import chain
from league_sdk.ledger.kinds import EventKind
from matches.events import registry
from matches.models import Event, League
from matches.observing import telemetry
from matches.push import notify
from matches.push.nudge import nudge
from storage import clock
from storage.prepared import Prepared, Sql, insert, swap

_UNCHANGED_SEQ = Sql("event_seq")
_HEAD = Prepared(lambda *, pk: League.objects.filter(pk=pk).only("event_seq", "ledger_head"), pk=str)


def record(league_id: str, kind: EventKind, /, **data: Any) -> None:
    """Write an event with the league's next number and its digest. Call inside the transaction of the change.

    Changes: the event, and the number and head in the league's row, which stays locked until the commit.

    Raises:
        TypeError: a field is not one of the kind's, or of another type.
    """
    registry.check(kind, data)
    at, salt = clock.now(), os.urandom(chain.SALT_BYTES).hex()
    link = _append(league_id, salt, kind, at, data)
    if link is None:
        # PostgreSQL only: another transaction recorded an event meanwhile. Lock the league's row, so that none can now.
        swap(League, {"event_seq": _UNCHANGED_SEQ}, pk=league_id)
        link = _append(league_id, salt, kind, at, data)
    if link is None:
        raise League.DoesNotExist(league_id)
    row = (league_id, link.public["seq"], kind, data, at, link.digest, salt)
    insert(Event, ("league_id", "seq", "kind", "data", "at", "digest", "salt"), [row])
    telemetry.happened(league_id, kind, data)


def _append(league_id: str, salt: str, kind: str, at: datetime, data: dict[str, Any]) -> chain.Link | None:
    """Move the league's head to a new event; None if another event moved it meanwhile."""
    head = _HEAD.one(pk=league_id)
    if head is None:
        raise League.DoesNotExist(league_id)
    # A corrupt head must not stop the league: start a new chain, and the verification of the ledger will report it.
    before = head.ledger_head if chain.is_hash(head.ledger_head) else ""
    link = chain.link(before, salt, league_id=league_id, seq=head.event_seq + 1, kind=kind, at=at, data=data)
    new_head = {"event_seq": head.event_seq + 1, "ledger_head": link.digest}
    return link if swap(League, new_head, pk=league_id, event_seq=head.event_seq) else None


def changed(league_id: str, *match_ids: str, urgent: bool = True, result: bool = False) -> None:
    """After commit, tell browsers that show this league or these matches, and wake the conductor.

    Args:
        urgent: whether the conductor looks at once.
        result: whether a match has ended.
    """
    shown(league_id, *match_ids, result=result)
    transaction.on_commit(lambda: nudge(urgent=urgent))


def shown(league_id: str, *match_ids: str, result: bool = False) -> None:
    """After commit, tell browsers only. For changes that give the conductor nothing to do."""
    transaction.on_commit(lambda: notify.push(league_id, match_ids, result=result))
