"""Tic-Tac-Toe (ruling, section 7): nine cells, 0 to 8 from the top left, three in a row win."""

from __future__ import annotations

from typing import Any

from league_sdk.rules.board import EMPTY, Board, BoardGame, Cell
from league_sdk.rules.moves import illegal, whole_number

SIDE = 3
CELLS = SIDE * SIDE


class TicTacToe(BoardGame):
    """A move is the number of an empty cell, row by row."""

    game_type = "tic_tac_toe"
    display_name = "Tic-Tac-Toe"
    move_type = "place_mark"
    valid_choices = ("0-8",)
    # Nine moves of 30 s each, and 30 s for the invitation and GAME_OVER.
    max_round_time_sec = 300
    rows = columns = in_a_row = SIDE
    drawing = "cells"  # on the pages

    def legal_moves(self, board: Board) -> list[int]:
        return [cell for cell in range(CELLS) if board[cell // SIDE][cell % SIDE] == EMPTY]

    def read_move(self, board: Board, move: Any) -> int:
        cell = whole_number(move, 0, CELLS - 1, what="a cell")
        free = self.legal_moves(board)
        if cell not in free:
            expected = f"an empty cell: {', '.join(map(str, free))}"
            raise illegal(f"cell {cell} is taken.", seen=move, expected=expected)
        return cell

    def cell_of(self, board: Board, move: int) -> Cell:
        return divmod(move, SIDE)
