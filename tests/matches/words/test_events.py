"""What the feed says of events."""

from __future__ import annotations

from typing import Any

import pytest

from matches.words.events import MAX_NAMED, happened


def champions(count: int) -> dict[str, Any]:
    return {"champions": [{"display_name": f"Player {number}", "points": 3} for number in range(1, count + 1)]}


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "Champion: Player 1."),
        (MAX_NAMED, "Champions: Player 1, Player 2, Player 3, Player 4."),
        (MAX_NAMED + 1, "Champions: Player 1, Player 2, Player 3, Player 4 and 1 more."),
        (MAX_NAMED + 9, "Champions: Player 1, Player 2, Player 3, Player 4 and 9 more."),
    ],
)
def test_many_champions_are_counted_and_not_all_named(count: int, named: str) -> None:
    assert happened("league_completed", champions(count)) == f"The league is over. {named}"


def test_nobody_is_champion_of_a_table_of_zeros() -> None:
    nobody = {"champions": [{"display_name": "Player 1", "points": 0}]}
    assert happened("league_completed", nobody) == "The league is over."
