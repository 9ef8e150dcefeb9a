"""``docs/operations.md`` says how long a league takes: its table has the figures of the formula beside it."""

from __future__ import annotations

import math
import re

import pytest

from league_sdk.formats.round_robin import matches_of, planned_round, rounds_of
from league_sdk.rules.connect_four import COLUMNS, ROWS
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
PLAYERS = (10, 20, 30, 60, 100)
MIN_ROUND_S, PER_MATCH_S = 0.15, 0.01
"""What the site itself needs for a round, as measured: for the whole round at least, and per match."""
MOVES = {"Even/Odd": 1, "Tic-Tac-Toe": 9, "Connect Four": 42}
"""By game: for how many moves of the longest match the players are asked one after the other (Even/Odd: at once)."""


def in_words(seconds: float) -> str:
    return f"{math.ceil(seconds)} s" if seconds < 100 else f"{math.ceil(seconds / 60)} min"


def league_s(players: int, moves: int, think_s: float) -> float:
    """How long all rounds of a league take."""
    matches_of_round = len(planned_round(players, 1).pairings)
    return rounds_of(players) * (max(MIN_ROUND_S, PER_MATCH_S * matches_of_round) + moves * think_s)


@pytest.mark.parametrize("players", PLAYERS)
def test_a_row_is_what_the_formula_says(players: int) -> None:
    slow = [in_words(league_s(players, moves, 1)) for moves in MOVES.values()]
    cells = [players, rounds_of(players), matches_of(players), in_words(league_s(players, 0, 0)), *slow]
    assert f"| {' | '.join(map(str, cells))} |\n" in TEXT


def test_the_formula_on_the_page_is_the_one_of_this_test() -> None:
    [formula] = re.findall(r"^    seconds = .*$", TEXT, re.MULTILINE)
    expected = f"rounds x (max({MIN_ROUND_S}, {PER_MATCH_S} x matches of a round) + moves x seconds an answer takes)"
    assert formula.partition("= ")[2] == expected
    assert MOVES["Connect Four"] == ROWS * COLUMNS
