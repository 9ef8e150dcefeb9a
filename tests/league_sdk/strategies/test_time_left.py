"""How much of the time until the deadline a strategy takes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from league_sdk.strategies.time_left import MARGIN_S, thinking_time, time_left

ASKED, DEADLINE = "2025-01-15T10:15:00Z", "2025-01-15T10:15:30Z"
AT = datetime(2025, 1, 15, 10, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("context", "seconds_later", "expected"),
    [
        ({"deadline": DEADLINE, "timestamp": ASKED}, 10, 20),
        ({"deadline": DEADLINE}, 10, 20),
        ({"deadline": DEADLINE}, 40, -10),
        ({"deadline": DEADLINE, "timestamp": ASKED}, 300, 30),  # this machine's clock is fast
        ({"deadline": DEADLINE, "timestamp": ASKED}, -300, 30),  # or slow
        ({"deadline": DEADLINE, "timestamp": "yesterday"}, 10, 20),
        ({"deadline": 7}, 0, None),
        ({}, 0, None),
    ],
)
def test_the_time_left_is_computed_even_if_the_clocks_differ(
    context: dict[str, Any], seconds_later: int, expected: float | None
) -> None:
    assert time_left(context, AT + timedelta(seconds=seconds_later)) == expected


def test_a_strategy_takes_its_budget_or_what_is_left_of_the_deadline() -> None:
    context = {"deadline": DEADLINE, "timestamp": ASKED}
    assert [thinking_time(budget, context, AT) for budget in (1.0, 60.0)] == [1.0, 30.0 - MARGIN_S]
    assert thinking_time(60.0, {}, AT) == 60.0
    assert thinking_time(60.0, {"deadline": ASKED}, AT) == 0.0
