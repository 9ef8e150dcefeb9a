"""Connect Four (our choice, by 004 3.8): marks fall down seven columns of six, four in a row win."""

from __future__ import annotations

from typing import Any

from league_sdk.rules.board import EMPTY, Board, BoardGame, Cell
from league_sdk.rules.moves import illegal, whole_number

ROWS, COLUMNS = 6, 7


class ConnectFour(BoardGame):
    """A move is the number of a column that is not full; 0 is on the left."""

    game_type = "connect_four"
    display_name = "Connect Four"
    move_type = "drop_disc"
    valid_choices = ("0-6",)
    # 42 moves of 30 s each, and 30 s for the invitation and GAME_OVER.
    max_round_time_sec = 1290
    rows, columns, in_a_row = ROWS, COLUMNS, 4
    column_names = tuple(str(column) for column in range(COLUMNS))
    drawing = "discs"  # on the pages

    def legal_moves(self, board: Board) -> list[int]:
        return [column for column in range(COLUMNS) if board[0][column] == EMPTY]

    def read_move(self, board: Board, move: Any) -> int:
        column = whole_number(move, 0, COLUMNS - 1, what="a column")
        free = self.legal_moves(board)
        if column not in free:
            expected = f"a column that is not full: {', '.join(map(str, free))}"
            raise illegal(f"column {column} is full.", seen=move, expected=expected)
        return column

    def cell_of(self, board: Board, move: int) -> Cell:
        return max(row for row in range(ROWS) if board[row][move] == EMPTY), move
