"""Connect Four: the contract of all games, falling marks, and lines in all four directions."""

import pytest

from league_sdk.protocol.errors import IllegalMove
from league_sdk.rules.connect_four import ConnectFour
from league_sdk.rules.game import State
from tests.contracts.game import PLAYERS, GameContract

GAME = ConnectFour()


class TestConnectFour(GameContract):
    game = GAME


def after(moves: str) -> State:
    """The state after these moves, in which the players take turns."""
    state = GAME.new_state(PLAYERS)
    for turn, move in enumerate(moves):
        state = GAME.apply(state, PLAYERS[turn % 2], int(move))
    return state


def drawn(state: State) -> list[str]:
    return ["".join(cell or "." for cell in row) for row in GAME.view(state, None)["board"]]


def test_a_mark_falls_to_the_lowest_free_cell() -> None:
    assert drawn(after("3330")) == [".......", ".......", ".......", "...X...", "...O...", "O..X..."]


@pytest.mark.parametrize(
    ("moves", "winner", "cells"),
    [
        ("0011223", "P01", [[5, 0], [5, 1], [5, 2], [5, 3]]),
        ("0101010", "P01", [[2, 0], [3, 0], [4, 0], [5, 0]]),
        ("01122323363", "P01", [[2, 3], [3, 2], [4, 1], [5, 0]]),
        ("65544343303", "P01", [[2, 3], [3, 4], [4, 5], [5, 6]]),
        ("60615263", "P02", [[5, 0], [5, 1], [5, 2], [5, 3]]),
        # The last mark may join two runs: the whole line is shown.
        ("00112244553", "P01", [[5, 0], [5, 1], [5, 2], [5, 3], [5, 4], [5, 5]]),
    ],
)
def test_four_in_a_row_win_in_every_direction(moves: str, winner: str, cells: list[list[int]]) -> None:
    assert GAME.outcome(after(moves[:-1])) is None
    outcome = GAME.outcome(after(moves))
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == (winner, f"{winner} has 4 in a row after {len(moves)} moves")
    assert outcome.details["winning_cells"] == cells


def test_a_line_does_not_continue_at_the_opposite_edge() -> None:
    assert GAME.outcome(after("1155660")) is None
    assert drawn(after("1155660"))[-1] == "XX...XX"


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


def test_a_move_in_a_full_column_is_refused_with_the_free_columns() -> None:
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


def test_the_public_view_has_the_names_of_the_columns() -> None:
    view = GAME.view(after("3"), None)
    assert view["column_names"] == ["0", "1", "2", "3", "4", "5", "6"]
    assert view["last_move"] == {"player_id": "P01", "move": 3, "row": 5, "column": 3}
