"""Counts, logs and traces a referee's matches and calls; never what a player has chosen."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from league_sdk.judging.observing import metrics
from league_sdk.protocol import records

logger = logging.getLogger(__name__)

LOGGED_FIELDS = ("league_id", "match_id", "round_id", "conversation_id")


@contextmanager
def playing(about: Mapping[str, Any]) -> Iterator[None]:
    """A match is played: every log record meanwhile names it."""
    with records.work("match", **about):
        logger.info("the match begins", extra={"event_type": "MATCH_STARTED"})
        yield


@contextmanager
def asking(player_id: str, message_type: str) -> Iterator[None]:
    """A player is sent a message; :func:`answered` records the result."""
    with records.work("player call", message_type=message_type, peer=f"player:{player_id}"):
        yield


def ended(cause: str = "") -> None:
    """The attempt at a match was reported, or failed and is handed back.

    One that is given up, or handed back because the referee leaves, is not counted.

    Args:
        cause: whose failure it was; empty if the result was reported.
    """
    metrics.MATCHES.add(cause or metrics.OK)
    if cause:
        logger.info("the match is handed back", extra={"event_type": "MATCH_HANDED_BACK", "cause": cause})
    else:
        logger.info("the match is over and reported", extra={"event_type": "MATCH_REPORTED"})


def answered(
    player_id: str, message_type: str, *, seconds: float, error_code: str | None, cause: str | None, status: int | None
) -> None:
    """A player answered a message, or gave no usable answer.

    Args:
        message_type: the type of the message that it was sent; for an answer by a POST of its own, that of the answer.
        error_code: E-code when there was no usable answer.
        cause: whose fault that is, if the code does not say it all.
        status: the status of the HTTP answer.
    """
    outcome = (cause or error_code or "") if error_code else metrics.OK
    metrics.CALLS.add(message_type, outcome)
    metrics.CALL_TIME.observe(seconds, message_type)
    if logger.isEnabledFor(logging.INFO):
        extra = {
            "event_type": "PLAYER_SILENT" if error_code else "PLAYER_ANSWERED",
            "message_type": message_type,
            "peer": f"player:{player_id}",
            "duration_ms": round(seconds * 1000, 1),
            "error_code": error_code,
            "cause": cause if error_code else None,
            "status": status,
        }
        logger.info("no usable answer to %s" if error_code else "%s was answered", message_type, extra=extra)


def called(message_type: str, error_code: str, seconds: float, message: Mapping[str, Any]) -> None:
    """Somebody called this referee.

    Args:
        message_type: the name of the message.
        error_code: the error code that it was answered with; empty for none.
        message: its fields; only :data:`LOGGED_FIELDS` are logged.
    """
    metrics.MESSAGES.add(message_type, error_code or metrics.OK)
    if logger.isEnabledFor(logging.INFO):
        extra = {
            "event_type": "CALL_REFUSED" if error_code else "CALL_ANSWERED",
            "message_type": message_type,
            "duration_ms": round(seconds * 1000, 1),
            "error_code": error_code or None,
        }
        extra |= {name: value for name in LOGGED_FIELDS if isinstance(value := message.get(name), (str, int))}
        logger.info("%s was refused" if error_code else "%s was answered", message_type, extra=extra)
