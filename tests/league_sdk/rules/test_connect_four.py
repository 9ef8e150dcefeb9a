"""Connect Four: the contract, gravity, and lines in all four directions."""

from typing import Any

import pytest

from league_sdk.protocol.errors import IllegalMove
from league_sdk.rules.connect_four import ConnectFour
from league_sdk.rules.game import State
from league_sdk.rules.registry import describe, get_game
from tests.contracts.game import PLAYERS, GameContract

GAME = ConnectFour()


class TestConnectFour(GameContract):
    game = GAME


def after(moves: str) -> State:
    """The state after these columns, in turn."""
    state = GAME.new_state(PLAYERS)
    for turn, move in enumerate(moves):
        state = GAME.apply(state, PLAYERS[turn % 2], int(move))
    return state


def drawn(state: State) -> list[str]:
    return ["".join(cell or "." for cell in row) for row in GAME.view(state, None)["board"]]


def test_marks_fall_to_the_lowest_free_cell() -> None:
    assert drawn(after("3330")) == [".......", ".......", ".......", "...X...", "...O...", "O..X..."]


@pytest.mark.parametrize(
    ("moves", "winner", "cells"),
    [
        ("0011223", "P01", [[5, 0], [5, 1], [5, 2], [5, 3]]),
        ("0101010", "P01", [[2, 0], [3, 0], [4, 0], [5, 0]]),
        ("01122323363", "P01", [[2, 3], [3, 2], [4, 1], [5, 0]]),
        ("65544343303", "P01", [[2, 3], [3, 4], [4, 5], [5, 6]]),
        ("60615263", "P02", [[5, 0], [5, 1], [5, 2], [5, 3]]),
        # The last disc may join two runs: all of the line is shown.
        ("00112244553", "P01", [[5, 0], [5, 1], [5, 2], [5, 3], [5, 4], [5, 5]]),
    ],
)
def test_four_in_a_row_win_in_every_direction(moves: str, winner: str, cells: list[list[int]]) -> None:
    assert GAME.outcome(after(moves[:-1])) is None
    outcome = GAME.outcome(after(moves))
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == (winner, f"{winner} has 4 in a row after {len(moves)} moves")
    assert outcome.details["winning_cells"] == cells


def test_a_row_does_not_go_on_at_the_other_edge() -> None:
    assert GAME.outcome(after("4050616")) is None
    assert drawn(after("4050616"))[-1] == "OO..XXX"


def test_a_full_board_without_a_line_is_a_draw() -> None:
    state = GAME.new_state(PLAYERS)
    order = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3, 2]
    order += [4, 5, 4, 5, 4, 5, 5, 4, 5, 4, 5, 4, 6, 6, 6, 6, 6, 6]
    for turn, move in enumerate(order):
        assert GAME.outcome(state) is None
        state = GAME.apply(state, PLAYERS[turn % 2], move)
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == (None, "the board is full and nobody has 4 in a row")


def test_a_full_column_says_which_are_left() -> None:
    state = after("000000")
    assert GAME.options(state, "P01") == [1, 2, 3, 4, 5, 6]
    with pytest.raises(IllegalMove) as caught:
        GAME.apply(state, "P01", "0")
    assert caught.value.message == "column 0 is full."
    assert caught.value.context == {
        "field": "move_data.choice",
        "seen": '"0"',
        "expected": "a column that is not full: 1, 2, 3, 4, 5, 6",
        "legacy_code": "G001",
    }


@pytest.mark.parametrize("move", [7, -1, 3.0, True, "7", "c", None, [3]])
def test_what_is_no_column_says_what_is_one(move: Any) -> None:
    with pytest.raises(IllegalMove) as caught:
        GAME.apply(after(""), "P01", move)
    assert caught.value.message == "move_data.choice must be a column: an integer from 0 to 6."


def test_the_public_is_told_the_names_of_the_columns() -> None:
    view = GAME.view(after("3"), None)
    assert view["column_names"] == ["0", "1", "2", "3", "4", "5", "6"]
    assert view["last_move"] == {"player_id": "P01", "move": 3, "row": 5, "column": 3}


def test_the_registry_describes_it() -> None:
    assert isinstance(get_game("connect_four"), ConnectFour)
    assert describe()["connect_four"] == {
        "game_type": "connect_four",
        "display_name": "Connect Four",
        "move_types": ["drop_disc"],
        "valid_choices": {"drop_disc": ["0-6"]},
        "min_players": 2,
        "max_players": 2,
        "rules_module": "league_sdk.rules.connect_four",
        "max_round_time_sec": 1290,
    }
