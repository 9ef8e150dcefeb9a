"""Moves that are numbers, in all games with such moves."""

import pytest

from league_sdk.protocol.errors import IllegalMove
from league_sdk.rules.registry import get_game
from tests.contracts.game import PLAYERS

NEVER_LEGAL = (1.0, True, False, "", "x", " 1", "1\n", "+1", "-1", "1.0", "１", "01", "00", None, [1], {"n": 1}, -1)


@pytest.mark.parametrize(
    ("game_type", "what", "lowest", "highest"),
    [("even_odd_numbers", "a number", 1, 5), ("tic_tac_toe", "a cell", 0, 8), ("connect_four", "a column", 0, 6)],
)
def test_a_numeric_move_is_an_integer_in_range_or_its_digits(
    game_type: str, what: str, lowest: int, highest: int
) -> None:
    game = get_game(game_type)
    state, first = game.new_state(PLAYERS), PLAYERS[0]
    for number in range(lowest, highest + 1):
        assert game.apply(state, first, str(number)) == game.apply(state, first, number)
    expected = f"an integer from {lowest} to {highest}"
    for move in (*NEVER_LEGAL, lowest - 1, highest + 1, str(highest + 1)):
        with pytest.raises(IllegalMove) as caught:
            game.apply(state, first, move)
        assert caught.value.message == f"move_data.choice must be {what}: {expected}."
        seen = {"field": "move_data.choice", "expected": expected, "legacy_code": "G001"}
        assert {name: caught.value.context[name] for name in seen} == seen
