"""Tic-Tac-Toe: the contract of all games, every winning line, and the views (004 3.8)."""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from league_sdk.protocol.errors import IllegalMove
from league_sdk.rules.game import State
from league_sdk.rules.tic_tac_toe import TicTacToe
from tests.contracts.game import PLAYERS, GameContract

GAME = TicTacToe()


class TestTicTacToe(GameContract):
    game = GAME


def after(*moves: Any) -> State:
    """The state after these moves, in which the players take turns."""
    state = GAME.new_state(PLAYERS)
    for turn, move in enumerate(moves):
        state = GAME.apply(state, PLAYERS[turn % 2], move)
    return state


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@pytest.mark.parametrize("line", LINES)
def test_three_in_a_row_win_for_either_player(line: tuple[int, int, int]) -> None:
    free = [cell for cell in range(9) if cell not in line]
    candidates = ((free[0], free[1], free[3]), (free[0], free[2], free[5]))
    others = next(cells for cells in candidates if cells not in LINES)
    x, y, z = line
    won = after(x, others[0], y, others[1], z)
    outcome = GAME.outcome(won)
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == ("P01", "P01 has 3 in a row after 5 moves")
    assert GAME.view(won, None)["winning_cells"] == sorted([cell // 3, cell % 3] for cell in line)
    second = GAME.outcome(after(others[0], x, others[1], y, others[2], z))
    assert second is not None
    assert (second.winner, second.reason) == ("P02", "P02 has 3 in a row after 6 moves")


def test_a_full_board_without_a_line_is_a_draw() -> None:
    outcome = GAME.outcome(after(0, 1, 2, 4, 3, 5, 7, 6, 8))
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == (None, "the board is full and nobody has 3 in a row")
    assert outcome.details["board"] == [["X", "O", "X"], ["X", "O", "O"], ["O", "X", "X"]]
    assert outcome.details["winning_cells"] == []


def test_the_last_cell_can_complete_two_lines_at_once() -> None:
    view = GAME.view(after(0, 3, 1, 4, 8, 6, 5, 7, 2), None)
    assert view["winning_cells"] == [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2]]


def test_all_possible_games_have_the_known_outcomes() -> None:
    """There are 255168 games, of which the first player wins 131184 and the second 77904."""

    @cache
    def ends(crosses: frozenset[int], noughts: frozenset[int]) -> Counter[str | None]:
        # The order of earlier moves does not matter, because only the last move can complete a line.
        seats = sorted(crosses), sorted(noughts)
        turn = len(crosses) + len(noughts)
        state = {"players": list(PLAYERS), "moves": [seats[n % 2][n // 2] for n in range(turn)]}
        winners = Counter[str | None]()
        for move in GAME.options(state, PLAYERS[turn % 2]):
            outcome = GAME.outcome(GAME.apply(state, PLAYERS[turn % 2], move))
            if outcome is not None:
                winners[outcome.winner] += 1
            elif turn % 2:
                winners += ends(crosses, noughts | {move})
            else:
                winners += ends(crosses | {move}, noughts)
        return winners

    assert ends(frozenset(), frozenset()) == {"P01": 131184, "P02": 77904, None: 46080}


def test_a_move_to_a_taken_cell_is_refused_with_the_free_cells() -> None:
    state = after(4, 0)
    with pytest.raises(IllegalMove) as caught:
        GAME.apply(state, "P01", 4)
    assert caught.value.message == "cell 4 is taken."
    assert caught.value.context == {
        "field": "move_data.choice",
        "seen": "4",
        "expected": "an empty cell: 1, 2, 3, 5, 6, 7, 8",
        "legacy_code": "G001",
    }


def test_a_move_out_of_turn_names_the_player_to_move() -> None:
    over = after(0, 3, 1, 4, 2)
    for state, player, expected in ((after(), "P02", "P01"), (after(4), "P01", "P02"), (over, "P02", "nobody")):
        with pytest.raises(IllegalMove) as caught:
            GAME.apply(state, player, 5)
        seen = {"field": "player_id", "seen": f'"{player}"', "expected": expected, "legacy_code": "G004"}
        assert caught.value.context == seen


def test_the_views_of_a_player_and_the_public() -> None:
    state = after(4, 0)
    public = {
        "players": ["P01", "P02"],
        "marks": {"P01": "X", "P02": "O"},
        "board": [["O", "", ""], ["", "X", ""], ["", "", ""]],
        "moves": [4, 0],
        "last_move": {"player_id": "P02", "move": 0, "row": 0, "column": 0},
        "to_move": "P01",
        "winning_cells": [],
    }
    assert GAME.view(state, None) == public
    assert GAME.view(state, "P02") == public | {"your_mark": "O"}


def test_an_unfinished_game_keeps_its_board_and_has_nobody_to_move() -> None:
    details = GAME.unfinished(after(4))
    assert (details["board"], details["to_move"]) == ([["", "", ""], ["", "X", ""], ["", "", ""]], None)
    assert (details["choices"], details["drawn_number"]) == ({"P01": [4], "P02": None}, None)
