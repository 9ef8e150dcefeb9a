"""Even/Odd with numbers: the contract, and the variant of 002 as the ruling has it (section 7)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol.errors import IllegalMove
from league_sdk.rules.even_odd_numbers import EvenOddNumbers
from league_sdk.rules.game import Outcome
from tests.contracts.game import PLAYERS, GameContract


class Fixed:
    """Gives one number, and notes the range it was asked for."""

    def __init__(self, number: int) -> None:
        self.number, self.asked = number, list[tuple[int, int]]()

    def randint(self, a: int, b: int) -> int:
        self.asked.append((a, b))
        return self.number


class TestEvenOddNumbers(GameContract):
    game = EvenOddNumbers()


def played(a: Any, b: Any, number: int) -> Outcome | None:
    game = EvenOddNumbers()
    state = game.apply(game.apply(game.new_state(PLAYERS), "P02", b), "P01", a)
    return game.outcome(game.draw(state, Fixed(number)))


@pytest.mark.parametrize(
    ("a", "b", "number", "winner", "reason"),
    [
        (1, 1, 10, "P01", "1 + 1 + 10 = 12 (even), and P01 stands for even"),
        (5, 5, 1, "P02", "5 + 5 + 1 = 11 (odd), and P02 stands for odd"),
        (2, 5, 4, "P02", "2 + 5 + 4 = 11 (odd), and P02 stands for odd"),
        (4, 3, 9, "P01", "4 + 3 + 9 = 16 (even), and P01 stands for even"),
    ],
)
def test_the_parity_of_the_sum_names_the_winner(a: int, b: int, number: int, winner: str, reason: str) -> None:
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
def test_there_is_always_a_winner_and_one_more_always_turns_it(a: int, b: int, number: int) -> None:
    outcome, next_outcome = played(a, b, number), played(a, b, number % 10 + 1)
    assert outcome is not None and next_outcome is not None
    assert {outcome.winner, next_outcome.winner} == set(PLAYERS)


def test_the_number_is_drawn_from_1_to_10() -> None:
    game, source = EvenOddNumbers(), Fixed(7)
    state = game.apply(game.apply(game.new_state(PLAYERS), "P01", 1), "P02", 2)
    assert game.draw(state, source)["number"] == 7
    assert source.asked == [(1, 10)]


@pytest.mark.parametrize("move", [0, 6, -1, 1.0, True, "6", "0", " 1", "1\n", "+1", "１", "01", None, [1], {"n": 1}])
def test_a_move_is_an_integer_from_1_to_5(move: Any) -> None:
    game = EvenOddNumbers()
    with pytest.raises(IllegalMove) as caught:
        game.apply(game.new_state(PLAYERS), "P01", move)
    assert caught.value.message == "move_data.choice must be a number: an integer from 1 to 5."
    context = caught.value.context
    assert (context["field"], context["expected"]) == ("move_data.choice", "an integer from 1 to 5")
    assert context["legacy_code"] == "G001"


def test_digits_in_a_string_are_that_number() -> None:
    game = EvenOddNumbers()
    state = game.new_state(PLAYERS)
    assert [game.apply(state, "P01", str(n)) for n in range(1, 6)] == [game.apply(state, "P01", n) for n in range(1, 6)]


def test_everyone_knows_who_stands_for_what_and_nobody_a_number_before_the_draw() -> None:
    game = EvenOddNumbers()
    parities = {"P01": "even", "P02": "odd"}
    state = game.apply(game.new_state(PLAYERS), "P01", 3)
    assert [game.view(state, viewer) for viewer in (None, "P01", "P02")] == [{"parities": parities}] * 3
    drawn = game.draw(game.apply(state, "P02", 5), Fixed(2))
    shown = {"parities": parities, "choices": {"P01": 3, "P02": 5}, "drawn_number": 2, "sum": 10}
    assert [game.view(drawn, viewer) for viewer in (None, "P01", "P02")] == [shown] * 3
