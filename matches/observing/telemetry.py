"""Count and log what this site sends to agents; log what happens in its leagues."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from league_sdk.protocol import records
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import START_MATCH
from league_sdk.transport.client import CallFailed
from matches.models import Match
from matches.observing import metrics

logger = logging.getLogger(__name__)

CANCELLED = "cancelled"
_LOGGED = ("round_id", "match_id", "attempt", "status", "cause")
"""The fields of an event that are logged, beside the player's id (``peer``).

Names, reasons and notices, written by people, stay in the database.
"""


class Sent:
    """The outcome of one message that is being sent.

    Attributes:
        outcome: ``ok``, the cause of the failure, or ``cancelled``.
        problem: the failure in words; empty if there is none.
    """

    __slots__ = ("outcome", "problem")

    def __init__(self) -> None:
        self.outcome: str = metrics.OK
        self.problem = ""

    def failed(self, cause: str, problem: str) -> None:
        """Note that the message was not accepted."""
        self.outcome, self.problem = cause, problem


@contextmanager
def sending(about: Mapping[str, Any]) -> Iterator[Sent]:
    """Count and log one try to send a message. An exception is noted as its outcome and raised again.

    Args:
        about: fields of the log record; ``message_type`` is one of ours.
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
        except Exception as error:
            sent.failed(Cause.LEAGUE, f"an error of this site ({type(error).__name__})")
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
                # Broadcasts that arrived are logged at DEBUG (004 10.6.3): otherwise they would be most of the log.
                level = logging.INFO if kind == START_MATCH else logging.DEBUG
                logger.log(level, "%s was sent", kind, extra={"event_type": "MESSAGE_SENT"})


def happened(league_id: str, kind: str, data: Mapping[str, Any]) -> None:
    """After commit, log that an event of a league was recorded."""
    if logger.isEnabledFor(logging.INFO):
        fields = {name: data[name] for name in _LOGGED if data.get(name) is not None}
        extra = {"event_type": kind.upper(), "league_id": league_id, **fields}
        if data.get("player_id"):
            extra["peer"] = f"player:{data['player_id']}"
        # Collect the fields now: the context may have changed when a larger transaction commits.
        transaction.on_commit(lambda: logger.info("%s", kind.replace("_", " "), extra=extra))


def assigned(match: Match) -> None:
    """After commit, log that a match was assigned to a referee."""
    if logger.isEnabledFor(logging.INFO):
        extra = {"event_type": "MATCH_ASSIGNED", **about_match(match)}
        transaction.on_commit(lambda: logger.info("match assigned", extra=extra))


def about_match(match: Match) -> dict[str, Any]:
    """The fields of a log record about a match."""
    return {
        "league_id": match.league_id,
        "match_id": match.match_id,
        "attempt": match.attempt,
        "conversation_id": match.conversation_id,
    }
