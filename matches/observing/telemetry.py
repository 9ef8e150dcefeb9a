"""What this site sends to agents and what becomes of its leagues, as it is counted and logged."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from league_sdk.protocol import records
from league_sdk.protocol.messages import START_MATCH
from league_sdk.transport.client import CallFailed
from matches.models import Match
from matches.observing import metrics

logger = logging.getLogger(__name__)

CANCELLED = "cancelled"
_TOLD = ("round_id", "match_id", "attempt", "status", "cause")
"""What of an event's data stands in the log; names, reasons and notices are people's words and stay in the database."""


class Sent:
    """One message under way.

    Attributes:
        outcome: ``ok``, or the cause of its failure.
        problem: the same in words.
    """

    __slots__ = ("outcome", "problem")

    def __init__(self) -> None:
        self.outcome: str = metrics.OK
        self.problem = ""

    def failed(self, cause: str, problem: str) -> None:
        """It was not taken."""
        self.outcome, self.problem = cause, problem


@contextmanager
def sending(about: Mapping[str, Any]) -> Iterator[Sent]:
    """Around one try to send one message; a ``CallFailed`` passes through and is its outcome.

    Args:
        about: fields of a log record; ``message_type`` is one of ours.
    """
    sent = Sent()
    begun = time.perf_counter()
    with records.work("delivery", **about) as fields:
        try:
            yield sent
        except CallFailed as error:
            sent.failed(error.cause, str(error))
            raise
        except asyncio.CancelledError:
            sent.failed(CANCELLED, "not waited for")
            raise
        finally:
            seconds = time.perf_counter() - begun
            kind = str(about.get("message_type", "other"))
            metrics.DELIVERIES.labels(kind, sent.outcome).inc()
            metrics.DELIVERY_SECONDS.labels(kind).observe(seconds)
            fields["duration_ms"] = round(seconds * 1000, 1)
            if sent.problem:
                fields["cause"] = sent.outcome
                logger.info("%s was not taken: %s", kind, sent.problem, extra={"event_type": "MESSAGE_NOT_SENT"})
            else:
                # A broadcast that arrived is no news (004 10.6.3), and there are more of them than of anything else.
                level = logging.INFO if kind == START_MATCH else logging.DEBUG
                logger.log(level, "%s was sent", kind, extra={"event_type": "MESSAGE_SENT"})


def happened(league_id: str, kind: str, data: Mapping[str, Any]) -> None:
    """After commit: one line that an event of a league is on record."""
    if logger.isEnabledFor(logging.INFO):
        told = {name: data[name] for name in _TOLD if data.get(name) is not None}
        extra = {"event_type": kind.upper(), "league_id": league_id, **told}
        if data.get("player_id"):
            extra["peer"] = f"player:{data['player_id']}"
        # What it belongs to is known now; after the commit of a larger change it may be over.
        transaction.on_commit(lambda: logger.info("%s", kind.replace("_", " "), extra=extra))


def assigned(match: Match) -> None:
    """After commit: a match has a referee, and a conversation of its own."""
    if logger.isEnabledFor(logging.INFO):
        extra = {"event_type": "MATCH_ASSIGNED", **about_match(match)}
        transaction.on_commit(lambda: logger.info("match assigned", extra=extra))


def about_match(match: Match) -> dict[str, Any]:
    """The fields of a log record that tell of a match."""
    return {
        "league_id": match.league_id,
        "match_id": match.match_id,
        "attempt": match.attempt,
        "conversation_id": match.conversation_id,
    }
