"""What all games on a board have in common."""

from __future__ import annotations

from typing import Any

from league_sdk.rules.board import MAX_STEPS, Board, BoardGame, Cell
from league_sdk.rules.connect_four import ConnectFour

PLAYERS = ("P01", "P02")


class Long(BoardGame):
    """A board of one row with more cells than Python allows calls inside one another."""

    game_type, display_name, move_type, valid_choices, max_round_time_sec = "long", "Long", "put", ("0",), 60
    rows, columns, in_a_row = 1, 7 * MAX_STEPS, 3

    def legal_moves(self, board: Board) -> list[int]:
        return [column for column in range(self.columns) if not board[0][column]][:1]

    def read_move(self, board: Board, move: Any) -> int:
        return int(move)

    def cell_of(self, board: Board, move: int) -> Cell:
        return 0, move


def test_a_long_game_is_replayed_from_its_moves_alone() -> None:
    moves = list(range(7 * MAX_STEPS))
    outcome = Long().outcome({"players": list(PLAYERS), "moves": moves})
    assert outcome is not None
    assert outcome.winner is None
    assert len(outcome.details["moves"]) == 7 * MAX_STEPS


def test_a_view_is_the_callers_own_and_changes_nothing_for_others() -> None:
    game = ConnectFour()
    state = game.apply(game.new_state(PLAYERS), "P01", 3)
    view = game.view(state, None)
    view["board"][5][3] = "O"
    view["winning_cells"].append([0, 0])
    assert game.view(state, None)["board"][5][3] == "X"
    assert game.view(state, None)["winning_cells"] == []
