"""The simplest strategies (004 3.6.1)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from league_sdk.player import Alternating, AlwaysEven, AlwaysOdd, Random

OPTIONS = ["even", "odd"]


def test_random_draws_from_the_source_it_is_given() -> None:
    first, second = ([Random(random.Random(3)).move(list(range(7)), {}, {}) for _ in range(5)] for _ in range(2))
    assert first == second
    rng = random.Random(3)
    assert {Random(rng).choose(OPTIONS, {}) for _ in range(20)} == set(OPTIONS)


def test_even_and_odd_are_what_they_say() -> None:
    assert [one.choose(OPTIONS, {}) for one in (AlwaysEven(), AlwaysOdd())] == OPTIONS


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        ([], "even"),
        (["even"], "odd"),
        (["even", "odd"], "even"),
        (["odd", "even", 4, None], "odd"),  # matches of other games, and one that was not played
        ([["even"], "Even"], "even"),
    ],
)
def test_alternating_goes_on_from_its_last_choice(mine: list[Any], expected: str) -> None:
    history = [{"my_choice": choice} for choice in mine]
    assert Alternating().choose(OPTIONS, {"history": history}) == expected
