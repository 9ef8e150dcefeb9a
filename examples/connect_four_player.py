"""A player of Connect Four: wins if it can, blocks if it must, else plays near the middle.

.venv/bin/python examples/connect_four_player.py --name Four --game connect_four --league URL
"""

import sys
from typing import Any

from league_sdk.player import Strategy, run

Board = list[list[str]]


class FourPlayer(Strategy):
    """Looks one move ahead for itself and for the other; plays other games at random."""

    quick = True

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        """Pick one of the columns in options; state["board"] has six rows, the top one first."""
        if context["game_type"] != "connect_four":
            return super().move(options, state, context)
        board, mine = state["board"], state["your_mark"]
        theirs = "O" if mine == "X" else "X"
        for mark in (mine, theirs):
            for column in options:
                if four_in_a_row(dropped(board, column, mark), mark):
                    return column
        return min(options, key=lambda column: abs(column - 3))


def dropped(board: Board, column: int, mark: str) -> Board:
    """The board after a mark fell down a column."""
    after = [list(row) for row in board]
    lowest = max(row for row in range(len(board)) if not board[row][column])
    after[lowest][column] = mark
    return after


def four_in_a_row(board: Board, mark: str) -> bool:
    """Whether a mark stands four times side by side in a row, a column or a diagonal."""
    rows, columns = len(board), len(board[0])
    for row in range(rows):
        for column in range(columns):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                cells = [(row + step * down, column + step * right) for step in range(4)]
                if all(0 <= r < rows and 0 <= c < columns and board[r][c] == mark for r, c in cells):
                    return True
    return False


if __name__ == "__main__":
    sys.exit(run(FourPlayer))
