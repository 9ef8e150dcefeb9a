"""Even/Odd: the contract of all games, and the rules of 004 chapter 3."""

import random
from collections import Counter
from typing import Any

import pytest

from league_sdk.protocol.errors import IllegalMove
from league_sdk.rules import even_odd
from league_sdk.rules.even_odd import EvenOdd, determine_winner, draw_number, init_game_state, validate_choice
from league_sdk.rules.game import Outcome
from tests.contracts.game import PLAYERS, GameContract, Script


class TestEvenOdd(GameContract):
    game = EvenOdd()


def played(a: str, b: str, number: int) -> Outcome | None:
    game = EvenOdd()
    state = game.apply(game.apply(game.new_state(PLAYERS), "P01", a), "P02", b)
    return game.outcome(game.draw(state, Script(number)))


@pytest.mark.parametrize(
    ("a", "b", "number", "winner", "reason"),
    [
        ("even", "odd", 8, "P01", "P01 chose even, number was 8 (even)"),  # table 7
        ("even", "odd", 7, "P02", "P02 chose odd, number was 7 (odd)"),
        ("odd", "even", 10, "P02", "P02 chose even, number was 10 (even)"),
        ("odd", "even", 1, "P01", "P01 chose odd, number was 1 (odd)"),
        ("odd", "odd", 4, None, "both guessed wrong, number was 4 (even)"),
        ("odd", "odd", 3, None, "both guessed right, number was 3 (odd)"),
        ("even", "even", 2, None, "both guessed right, number was 2 (even)"),
        ("even", "even", 9, None, "both guessed wrong, number was 9 (odd)"),
    ],
)
def test_a_player_who_alone_is_right_wins_and_otherwise_it_is_a_draw(
    a: str, b: str, number: int, winner: str | None, reason: str
) -> None:
    parity = "even" if number in (2, 4, 6, 8, 10) else "odd"
    details = {"drawn_number": number, "number_parity": parity, "choices": {"P01": a, "P02": b}}
    assert played(a, b, number) == Outcome(winner, reason, details)
    assert determine_winner({"P01": a, "P02": b}, number) == winner


def test_the_functions_of_004_3_7_1_exist() -> None:
    choices = {"P01": None, "P02": None}
    assert init_game_state(PLAYERS) == {"players": ["P01", "P02"], "choices": choices, "number": None}
    assert [even_odd.parity(number) for number in (1, 2, 9, 10)] == ["odd", "even", "odd", "even"]


@pytest.mark.parametrize(
    "choice", ["Even", "ODD", " even", "odd\n", "", "e", None, 0, True, ["even"], {"even": 1}, b"odd"]
)
def test_a_choice_is_exactly_even_or_odd(choice: Any) -> None:
    assert (validate_choice("even"), validate_choice("odd"), validate_choice(choice)) == (True, True, False)
    with pytest.raises(IllegalMove) as caught:
        EvenOdd().apply(init_game_state(PLAYERS), "P01", choice)
    assert caught.value.message == 'parity_choice must be exactly "even" or "odd".'
    assert (caught.value.context["field"], caught.value.context["expected"]) == ("parity_choice", '"even" or "odd"')


def test_the_number_drawn_is_what_the_random_source_gives_from_1_to_10() -> None:
    script = Script(*range(1, 11))
    assert [draw_number(script) for _ in range(10)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert script.ranges == [(1, 10)] * 10
    counts = Counter(draw_number(random.Random(seed)) for seed in range(2000))
    assert sorted(counts) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_one_choice_alone_is_hidden_and_does_not_end_the_game() -> None:
    game = EvenOdd()
    state = game.apply(game.new_state(PLAYERS), "P02", "odd")
    assert (game.to_move(state), game.outcome(state)) == (("P01",), None)
    assert [game.view(state, viewer) for viewer in (None, "P01", "P02")] == [{}, {}, {}]
    choices = {"P01": None, "P02": "odd"}
    assert game.unfinished(state) == {"drawn_number": None, "number_parity": None, "choices": choices}


def test_everyone_sees_choices_and_number_after_the_draw() -> None:
    game = EvenOdd()
    state = game.apply(game.apply(game.new_state(PLAYERS), "P01", "even"), "P02", "odd")
    drawn = game.draw(state, Script(8))
    shown = {"choices": {"P01": "even", "P02": "odd"}, "drawn_number": 8}
    assert [game.view(drawn, viewer) for viewer in (None, "P01", "P02")] == [shown] * 3


@pytest.mark.parametrize("a", even_odd.CHOICES)
@pytest.mark.parametrize("b", even_odd.CHOICES)
def test_the_chances_of_a_match_are_those_of_its_ten_numbers(a: str, b: str) -> None:
    ends = Counter(getattr(played(a, b, number), "winner", "") for number in range(1, 11))
    chances = EvenOdd().chances({"choices": {"P01": a, "P02": b}})
    assert chances == (ends["P01"] / 10, ends[None] / 10, ends["P02"] / 10)


def test_a_match_whose_choices_nobody_knows_has_the_chances_of_random_ones() -> None:
    assert EvenOdd().chances({}) == EvenOdd().chances({"choices": {"P01": "even", "P02": None}}) == (0.25, 0.5, 0.25)
