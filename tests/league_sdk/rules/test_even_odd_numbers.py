"""Even/Odd with numbers: the contract of all games, and the variant of 002 (ruling, section 7)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.rules.even_odd_numbers import EvenOddNumbers
from league_sdk.rules.game import Outcome
from tests.contracts.game import PLAYERS, GameContract, Script


class TestEvenOddNumbers(GameContract):
    game = EvenOddNumbers()


def played(a: Any, b: Any, number: int) -> Outcome | None:
    game = EvenOddNumbers()
    state = game.apply(game.apply(game.new_state(PLAYERS), "P02", b), "P01", a)
    return game.outcome(game.draw(state, Script(number)))


@pytest.mark.parametrize(
    ("a", "b", "number", "winner", "reason"),
    [
        (1, 1, 10, "P01", "1 + 1 + 10 = 12 (even), and P01 stands for even"),
        (5, 5, 1, "P02", "5 + 5 + 1 = 11 (odd), and P02 stands for odd"),
        (2, 5, 4, "P02", "2 + 5 + 4 = 11 (odd), and P02 stands for odd"),
        (4, 3, 9, "P01", "4 + 3 + 9 = 16 (even), and P01 stands for even"),
    ],
)
def test_the_parity_of_the_sum_decides_the_winner(a: int, b: int, number: int, winner: str, reason: str) -> None:
    details = {
        "drawn_number": number,
        "number_parity": "odd" if number in (1, 9) else "even",
        "sum": a + b + number,
        "sum_parity": "even" if winner == "P01" else "odd",
        "parities": {"P01": "even", "P02": "odd"},
        "choices": {"P01": a, "P02": b},
    }
    assert played(a, b, number) == Outcome(winner, reason, details)


@given(a=st.integers(1, 5), b=st.integers(1, 5), number=st.integers(1, 10))
def test_every_number_has_a_winner_and_the_next_number_has_the_other(a: int, b: int, number: int) -> None:
    outcome, next_outcome = played(a, b, number), played(a, b, number % 10 + 1)
    assert outcome is not None and next_outcome is not None
    assert {outcome.winner, next_outcome.winner} == set(PLAYERS)


def test_views_show_parities_at_once_and_numbers_only_after_the_draw() -> None:
    game = EvenOddNumbers()
    parities = {"P01": "even", "P02": "odd"}
    state = game.apply(game.new_state(PLAYERS), "P01", 3)
    assert [game.view(state, viewer) for viewer in (None, "P01", "P02")] == [{"parities": parities}] * 3
    drawn = game.draw(game.apply(state, "P02", 5), Script(2))
    shown = {"parities": parities, "choices": {"P01": 3, "P02": 5}, "drawn_number": 2, "sum": 10}
    assert [game.view(drawn, viewer) for viewer in (None, "P01", "P02")] == [shown] * 3
