"""READS: the board of a game that is played in turns, as templates draw it. Pure.

A view comes from a referee, and not every referee is ours: what is not a board of the form is not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_LINES = 20
"""Rows and columns of a board that still fits a page."""
MOST_MARK_CHARS = 3
MOST_MOVES = 400
MOST_MOVE_CHARS = 12
SEATS = ("a", "b")


def read_board(view: Mapping[str, Any], players: tuple[str, str]) -> dict[str, Any] | None:
    """A board for the templates, from what a game shows the public.

    Args:
        view: ``board`` in rows of marks; beside it ``marks`` by player, ``moves``, ``last_move``, ``to_move``,
            ``winning_cells`` and ``column_names``, each of which may be missing.
        players: the ids of PLAYER_A and PLAYER_B.

    Returns the rows of cells (``mark``, ``seat`` a or b or nothing, ``last``, ``won``), who has which mark, the
    moves so far and who is to move; None when there is no board in the view.
    """
    rows = _rows(view.get("board"))
    if rows is None:
        return None
    given = view.get("marks")
    given = given if isinstance(given, Mapping) else {}
    marks = {player: str(given[player])[:MOST_MARK_CHARS] for player in players if player in given}
    seats = {marks[player]: seat for player, seat in zip(players, SEATS, strict=True) if player in marks}
    last = view.get("last_move")
    last = (last.get("row"), last.get("column")) if isinstance(last, Mapping) else None
    won = view.get("winning_cells")
    won = [tuple(cell) for cell in won if isinstance(cell, list)] if isinstance(won, list) else []
    names = view.get("column_names")
    fits = isinstance(names, list) and len(names) == len(rows[0]) and all(isinstance(name, str) for name in names)
    moves = _moves(view.get("moves"), players)
    to_move = view.get("to_move")
    return {
        "rows": [
            [
                {"mark": mark, "seat": seats.get(mark, ""), "last": (y, x) == last, "won": (y, x) in won}
                for x, mark in enumerate(row)
            ]
            for y, row in enumerate(rows)
        ],
        "column_names": [name[:MOST_MARK_CHARS] for name in names] if isinstance(names, list) and fits else [],
        "marks": marks,
        "moves": moves,
        "to_move": to_move if to_move in players else None,
        "next": len(moves) + 1,
    }


def _rows(board: object) -> list[list[str]] | None:
    if not isinstance(board, list) or not 0 < len(board) <= MOST_LINES:
        return None
    for row in board:
        if not isinstance(row, list) or not 0 < len(row) <= MOST_LINES or len(row) != len(board[0]):
            return None
        if not all(isinstance(mark, str) and len(mark) <= MOST_MARK_CHARS for mark in row):
            return None
    return board


def _moves(moves: object, players: tuple[str, str]) -> list[dict[str, Any]]:
    """The moves so far, each with its number and the seat that made it: PLAYER_A begins, and they take turns."""
    if not isinstance(moves, list) or len(moves) > MOST_MOVES:
        return []
    return [
        {
            "number": turn + 1,
            "player_id": players[turn % 2],
            "seat": SEATS[turn % 2],
            "move": str(move)[:MOST_MOVE_CHARS],
        }
        for turn, move in enumerate(moves)
    ]
