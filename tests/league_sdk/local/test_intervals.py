"""The interval in which the true share of wins is."""

from __future__ import annotations

from math import comb

import pytest

from league_sdk.local.intervals import wilson


def test_the_interval_is_that_of_a_textbook() -> None:
    """50 of 100 by Wilson's formula: 0.4038 to 0.5962."""
    assert wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_after_no_wins_or_only_wins_the_interval_is_wide_and_within_0_and_1(share: float) -> None:
    low, high = wilson(share, 3)
    assert 0 <= low <= share <= high <= 1
    assert high - low > 0.5


def test_without_a_match_the_interval_is_from_0_to_1() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_on_average_the_interval_covers_the_true_share_as_often_as_it_says() -> None:
    """Checked with the binomial distribution itself, over many true shares."""
    matches, covered = 60, list[float]()
    for share in (number / 100 for number in range(5, 100, 5)):
        for wins in range(matches + 1):
            low, high = wilson(wins / matches, matches)
            if low <= share <= high:
                covered.append(comb(matches, wins) * share**wins * (1 - share) ** (matches - wins))
    assert sum(covered) / 19 == pytest.approx(0.95, abs=0.01)
