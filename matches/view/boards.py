"""READS: the board of a game that is played in turns, as templates draw it. Pure.

A view comes from a referee, and not every referee is ours: what is not a board of the form is not drawn, and what
does not follow from its moves is not replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from league_sdk.protocol.errors import LeagueError
from league_sdk.rules.registry import games

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


Step = list[list[Any]]
"""What one move changed: for each cell its row, its column and the mark that is there afterwards."""


def read_steps(view: Mapping[str, Any], players: tuple[str, str], game_type: str) -> list[Step]:
    """The board move by move, by the rules of the game.

    Args:
        view: as :func:`read_board` takes it.
        players: the ids of PLAYER_A and PLAYER_B.
        game_type: whose rules say what a move does.

    Returns for every move what it changed, beginning with an empty board; nothing when the game is not known here,
    or when its rules do not lead to the board that is shown.
    """
    game, moves, board = games().get(game_type), view.get("moves"), _rows(view.get("board"))
    if game is None or game.hidden or board is None or not isinstance(moves, list) or len(moves) > MOST_MOVES:
        return []
    try:
        state = game.new_state(players)
        boards = [_rows(game.view(state, None).get("board"))]
        for turn, move in enumerate(moves):
            state = game.apply(state, players[turn % 2], move)
            boards.append(_rows(game.view(state, None).get("board")))
    except (LeagueError, ValueError, TypeError, LookupError):
        # Not a game by these rules: what is shown of it stays as it is.
        return []
    whole = [rows for rows in boards if rows is not None]
    if len(whole) != len(boards) or whole[-1] != board or any(any(row) for row in whole[0]):
        return []
    return [_changes(before, after) for before, after in pairwise(whole)]


def _changes(before: list[list[str]], after: list[list[str]]) -> Step:
    return [
        [y, x, mark]
        for y, (old, new) in enumerate(zip(before, after, strict=True))
        for x, (was, mark) in enumerate(zip(old, new, strict=True))
        if was != mark
    ]


def time_moves(moves: Sequence[dict[str, Any]], answers: Sequence[Mapping[str, Any]]) -> None:
    """Put beside every move how long it took: the last answer of those that its player gave in that turn.

    Args:
        moves: as :func:`read_board` gives them; each gets ``took``, ``key`` (of the message) and ``tries``.
        answers: to the calls for a move, in order, each with ``seat``, ``took`` and ``key``.
    """
    turns = [list(group) for _, group in groupby(answers, key=lambda answer: answer["seat"])]
    for move, turn in zip(moves, turns, strict=False):
        if turn[-1]["seat"] != move["seat"]:
            return
        move |= {"took": turn[-1]["took"], "key": turn[-1]["key"], "tries": len(turn)}
