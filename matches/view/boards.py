"""The board of a turn-based game, as templates draw it. Pure.

The game's view comes from a referee, which may be a student's: a malformed board is not drawn, and a board that does
not follow from its moves is not replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from league_sdk.protocol.errors import LeagueError
from league_sdk.rules.registry import games

MAX_BOARD_SIDE = 20
"""Rows, and columns, of the largest board that fits the page."""
MAX_MARK_CHARS = 3
MAX_MOVES = 400
MAX_MOVE_CHARS = 12
SEATS = ("a", "b")


class Cell(NamedTuple):
    """A cell of a board: its mark, whose seat it belongs to (a, b or empty), and whether it was set last or has won."""

    mark: str
    seat: str = ""
    last: bool = False
    won: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """A move: PLAYER_A begins, and they take turns. :func:`time_moves` fills in ``took``, ``key`` and ``tries``."""

    number: int
    player_id: str
    seat: str
    move: str
    took: str = ""
    key: str = ""
    """The key of the message that answered."""
    tries: int = 0
    """How many answers the player gave in this turn."""


@dataclass(frozen=True, slots=True)
class Board:
    """A board for the templates.

    Attributes:
        marks: the mark of each player, by its id.
        to_move: the id of the player whose turn it is.
        steps: the board move by move as JSON, for the script that replays it; empty when it cannot be replayed.
    """

    rows: list[list[Cell]]
    column_names: list[str] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    to_move: str | None = None
    steps: str = ""


def read_board(view: Mapping[str, Any], players: tuple[str, str]) -> Board | None:
    """Parse the board in a game's public view; None when there is no well-formed one.

    Args:
        view: ``board`` in rows of marks; beside it ``marks`` by player, ``moves``, ``last_move``, ``to_move``,
            ``winning_cells`` and ``column_names``, each of which may be missing.
        players: the ids of PLAYER_A and PLAYER_B.
    """
    rows = _rows(view.get("board"))
    if rows is None:
        return None
    texts = view.get("marks")
    texts = texts if isinstance(texts, Mapping) else {}
    marks = {player: str(texts[player])[:MAX_MARK_CHARS] for player in players if player in texts}
    seats = {marks[player]: seat for player, seat in zip(players, SEATS, strict=True) if player in marks}
    last = view.get("last_move")
    last = (last.get("row"), last.get("column")) if isinstance(last, Mapping) else None
    won = view.get("winning_cells")
    won = [tuple(cell) for cell in won if isinstance(cell, list)] if isinstance(won, list) else []
    names = view.get("column_names")
    fits = isinstance(names, list) and len(names) == len(rows[0]) and all(isinstance(name, str) for name in names)
    to_move = view.get("to_move")
    return Board(
        [
            [Cell(mark, seats.get(mark, ""), (y, x) == last, (y, x) in won) for x, mark in enumerate(row)]
            for y, row in enumerate(rows)
        ],
        [name[:MAX_MARK_CHARS] for name in names] if isinstance(names, list) and fits else [],
        marks,
        _moves(view.get("moves"), players),
        to_move if to_move in players else None,
    )


def _rows(board: object) -> list[list[str]] | None:
    if not isinstance(board, list) or not 0 < len(board) <= MAX_BOARD_SIDE:
        return None
    for row in board:
        if not isinstance(row, list) or not 0 < len(row) <= MAX_BOARD_SIDE or len(row) != len(board[0]):
            return None
        if not all(isinstance(mark, str) and len(mark) <= MAX_MARK_CHARS for mark in row):
            return None
    return board


def _moves(moves: object, players: tuple[str, str]) -> list[Move]:
    if not isinstance(moves, list) or len(moves) > MAX_MOVES:
        return []
    return [
        Move(turn + 1, players[turn % 2], SEATS[turn % 2], str(move)[:MAX_MOVE_CHARS])
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
    if game is None or game.hidden or board is None or not isinstance(moves, list) or len(moves) > MAX_MOVES:
        return []
    try:
        state = game.new_state(players)
        boards = [_rows(game.view(state, None).get("board"))]
        for turn, move in enumerate(moves):
            state = game.apply(state, players[turn % 2], move)
            boards.append(_rows(game.view(state, None).get("board")))
    except (LeagueError, ValueError, TypeError, LookupError):
        # The moves break the rules: the board is shown but cannot be replayed.
        return []
    well_formed = [rows for rows in boards if rows is not None]
    if len(well_formed) != len(boards) or well_formed[-1] != board or any(any(row) for row in well_formed[0]):
        return []
    return [_changes(before, after) for before, after in pairwise(well_formed)]


def _changes(before: list[list[str]], after: list[list[str]]) -> Step:
    return [
        [y, x, mark]
        for y, (old, new) in enumerate(zip(before, after, strict=True))
        for x, (was, mark) in enumerate(zip(old, new, strict=True))
        if was != mark
    ]


class Answer(NamedTuple):
    """An answer to a call for a move: from whose seat, how long it took in words, and the key of its message."""

    seat: str
    took: str
    key: str


def time_moves(moves: Sequence[Move], answers: Sequence[Answer]) -> list[Move]:
    """The moves with how long each took: as long as the last answer that its player gave in that turn.

    Args:
        moves: as :func:`read_board` gives them.
        answers: to the calls for a move, in order.
    """
    turns = [list(group) for _seat, group in groupby(answers, key=lambda answer: answer.seat)]
    timed = list(moves)
    for place, (move, turn) in enumerate(zip(moves, turns, strict=False)):
        last = turn[-1]
        if last.seat != move.seat:
            break
        timed[place] = replace(move, took=last.took, key=last.key, tries=len(turn))
    return timed
