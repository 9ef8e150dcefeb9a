"""The strategy that counts (004 3.6.2)."""

from __future__ import annotations

import random

import pytest

from league_sdk.player import Frequency

OPTIONS = ["even", "odd"]


@pytest.mark.parametrize(("numbers", "expected"), [([2, 4, 1], {"even"}), ([1, 3, 2], {"odd"}), ([1, 2], set(OPTIONS))])
def test_frequency_chooses_what_was_drawn_more_often(numbers: list[int], expected: set[str]) -> None:
    rng = random.Random(1)
    assert {Frequency(rng).choose(OPTIONS, {"numbers_drawn": numbers}) for _ in range(20)} == expected


def test_frequency_needs_no_history() -> None:
    assert Frequency(random.Random(1)).choose(OPTIONS, {}) in OPTIONS
