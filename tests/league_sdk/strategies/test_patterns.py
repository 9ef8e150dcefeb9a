"""The strategy that looks for patterns (004 3.6.2)."""

from __future__ import annotations

import random

import pytest

from league_sdk.player import History
from league_sdk.rules.even_odd import parity
from league_sdk.strategies.patterns import followers, leader

OPTIONS = ["even", "odd"]


def choices_against(numbers: list[int]) -> list[str]:
    """What the strategy chooses before each of these numbers is drawn, knowing the numbers before it."""
    strategy = History(random.Random(1))
    return [strategy.choose(OPTIONS, {"numbers_drawn": numbers[:at]}) for at in range(len(numbers))]


@pytest.mark.parametrize("cycle", [[2, 1], [2, 2, 1], [1, 1, 2, 2], [2, 4, 6, 1]])
def test_a_draw_that_repeats_itself_is_found_out(cycle: list[int]) -> None:
    numbers = cycle * 10
    assert choices_against(numbers)[20:] == [parity(number) for number in numbers[20:]]


def test_without_a_pattern_the_more_frequent_parity_is_chosen() -> None:
    for numbers, expected in (([2, 4, 1], "even"), ([1, 3, 2], "odd")):
        assert History().choose(OPTIONS, {"numbers_drawn": numbers}) == expected
    rng = random.Random(1)
    assert {History(rng).choose(OPTIONS, {"numbers_drawn": []}) for _ in range(20)} == set(OPTIONS)


def test_a_longer_pattern_counts_for_more_than_a_shorter_one() -> None:
    """After "even odd" came "odd" each time, though after "odd" alone "odd" and "even" came equally often."""
    drawn = [parity(number) for number in (2, 1, 1, 2, 2, 1, 1, 2, 1)]
    assert followers(drawn, 2) == ["odd", "odd"]
    assert followers(drawn, 1) == ["odd", "even", "odd", "even"]
    assert History().choose(OPTIONS, {"numbers_drawn": [2, 1, 1, 2, 2, 1, 1, 2, 1]}) == "odd"


def test_a_sequence_seen_once_is_not_a_pattern() -> None:
    assert [leader(seen) for seen in ([], ["even"], ["even", "odd"], ["odd", "odd"])] == [None, None, None, "odd"]
