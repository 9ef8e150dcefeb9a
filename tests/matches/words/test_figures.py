"""The figures of an evening in words."""

from __future__ import annotations

import pytest

from matches.view.figures import Figures
from matches.view.stories import Ahead
from matches.words.figures import Line, lines


@pytest.mark.parametrize(
    ("ahead", "value", "note"),
    [
        (Ahead(2, 0), "2 points", ""),
        (Ahead(0, 1), "0 points", "the number of wins decided"),
        (Ahead(0, 0), "0 points", "the number of draws decided"),
    ],
)
def test_what_is_between_first_and_second_says_what_decided(ahead: Ahead, value: str, note: str) -> None:
    found = lines(Figures(6, 0, 0, [], None, None, None, None, ahead), None)
    assert found[0] == Line("finish", "Between first and second", value, (), note)
