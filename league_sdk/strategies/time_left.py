"""How long a strategy may think: shared by all that need time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from league_sdk.protocol.envelope import parse_stamp
from league_sdk.protocol.errors import InvalidTimestamp

MARGIN_S = 2.0
"""Seconds kept free before the deadline: for the way to the referee, and because timestamps are in whole seconds."""


def utc_now() -> datetime:
    """The time by the clock of this machine."""
    return datetime.now(UTC)


def thinking_time(budget_s: float, context: dict[str, Any], now: datetime) -> float:
    """Seconds for a move: the strategy's own budget, or less if the deadline is near.

    Args:
        budget_s: what the strategy takes if the deadline is far enough away.
        context: the context of the move, with its ``deadline`` and the ``timestamp`` of the call if they are known.
        now: the time by the clock of this machine.
    """
    left = time_left(context, now)
    return budget_s if left is None else max(0.0, min(budget_s, left - MARGIN_S))


def time_left(context: dict[str, Any], now: datetime) -> float | None:
    """Seconds until the deadline; None without one.

    If by our clock the deadline is over already, or farther away than it was for the referee when it asked, our clock
    is wrong. Then the result is the time that the referee gave for the move, if it said when it asked.
    """
    deadline = _moment(context.get("deadline"))
    if deadline is None:
        return None
    left, sent_at = (deadline - now).total_seconds(), _moment(context.get("timestamp"))
    limit = left if sent_at is None else (deadline - sent_at).total_seconds()
    return left if 0 < left <= limit else limit


def _moment(value: object) -> datetime | None:
    try:
        return parse_stamp(value)
    except InvalidTimestamp:
        return None
