"""The common base of board games: players take turns placing marks, a row of marks wins (ruling, section 7).

``tic_tac_toe`` and ``connect_four`` define the size of the board and the legal moves.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from league_sdk.protocol.messages import MessageType
from league_sdk.rules.game import Game, Outcome, Random, State
from league_sdk.rules.moves import MOVE_FIELD, out_of_turn

MARKS = ("X", "O")
"""The marks of PLAYER_A, who begins, and PLAYER_B."""
EMPTY = ""
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))

Board = Sequence[Sequence[str]]
Cell = tuple[int, int]
MAX_STEPS = 200
"""How many moves are replayed in one go; the function calls itself for each of them."""
MAX_KEPT_POSITIONS = 4096
"""How many positions a process keeps, because every question about a game needs its position again."""


@dataclass(frozen=True, slots=True)
class Position:
    """A board with what follows from it.

    Attributes:
        board: the rows of the board.
        cells: the cell of each move, in order.
        line: the winning cells, or none.
        legal: the moves that are allowed; none once somebody has won.
    """

    board: tuple[tuple[str, ...], ...]
    cells: tuple[Cell, ...] = ()
    line: tuple[Cell, ...] = ()
    legal: tuple[int, ...] = ()


class BoardGame(Game):
    """A game in which each move puts one mark on the board, and a row of the player's own marks wins.

    The state has the players and their moves in order; the board follows from the moves.

    Attributes:
        rows: the number of rows; row 0 is at the top.
        columns: the number of columns; column 0 is on the left.
        in_a_row: the number of marks in a row that wins, in any direction.
        column_names: headings shown to spectators if a move is the name of a column.
    """

    call_message = MessageType.GAME_MOVE_CALL
    response_message = MessageType.GAME_MOVE_RESPONSE
    choice_field = MOVE_FIELD
    hidden = False
    rows: ClassVar[int]
    columns: ClassVar[int]
    in_a_row: ClassVar[int]
    column_names: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def legal_moves(self, board: Board) -> list[int]:
        """The moves that are allowed on this board."""

    @abstractmethod
    def read_move(self, board: Board, move: Any) -> int:
        """Read a move as it was received.

        Raises:
            IllegalMove: E004 with ``legacy_code`` G001.
        """

    @abstractmethod
    def cell_of(self, board: Board, move: int) -> Cell:
        """The row and column of the mark that a legal move places."""

    def new_state(self, players: tuple[str, str]) -> State:
        return {"players": list(players), "moves": []}

    def to_move(self, state: State) -> tuple[str, ...]:
        if not self._position(state).legal:
            return ()
        return (state["players"][len(state["moves"]) % 2],)

    def options(self, state: State, player: str) -> list[Any]:
        return list(self._position(state).legal) if player in self.to_move(state) else []

    def apply(self, state: State, player: str, move: Any) -> State:
        movers = self.to_move(state)
        if player not in movers:
            raise out_of_turn(player, movers)
        return state | {"moves": [*state["moves"], self.read_move(self._position(state).board, move)]}

    def draw(self, state: State, rng: Random) -> State:
        raise ValueError(f"there is no chance in {self.game_type}")

    def view(self, state: State, viewer: str | None) -> dict[str, Any]:
        """The whole board, because nothing is secret.

        Both players and the public see ``players`` (PLAYER_A first), ``marks``, ``board`` (rows of cells, each a
        mark or empty), ``moves`` in order, ``last_move`` with its cell, ``to_move`` (null at the end) and
        ``winning_cells``. A player also sees its own mark as ``your_mark``.
        """
        position = self._position(state)
        players, moves = state["players"], state["moves"]
        marks = dict(zip(players, MARKS, strict=True))
        movers = self.to_move(state)
        last = None
        if moves:
            row, column = position.cells[-1]
            last = {"player_id": players[(len(moves) - 1) % 2], "move": moves[-1], "row": row, "column": column}
        view = {
            "players": list(players),
            "marks": marks,
            "board": [list(row) for row in position.board],
            "moves": list(moves),
            "last_move": last,
            "to_move": movers[0] if movers else None,
            "winning_cells": [list(cell) for cell in position.line],
        }
        if self.column_names:
            view["column_names"] = list(self.column_names)
        if viewer in marks:
            view["your_mark"] = marks[viewer]
        return view

    def outcome(self, state: State) -> Outcome | None:
        position = self._position(state)
        if position.line:
            turns = len(position.cells)
            winner = state["players"][(turns - 1) % 2]
            reason = f"{winner} has {self.in_a_row} in a row after {turns} moves"
            return Outcome(winner=winner, reason=reason, details=self.unfinished(state))
        if not position.legal:
            reason = f"the board is full and nobody has {self.in_a_row} in a row"
            return Outcome(winner=None, reason=reason, details=self.unfinished(state))
        return None

    def unfinished(self, state: State) -> dict[str, Any]:
        """The details of a result, whether the game was played to its end or stopped before: the final view, and more.

        ``choices`` has the moves of each player, null if there are none.

        ``drawn_number`` and ``number_parity`` are null, because no number is drawn (004 4.6.1).
        """
        players, moves = state["players"], state["moves"]
        choices = {player: moves[seat::2] or None for seat, player in enumerate(players)}
        view = self.view(state, None) | {"to_move": None}
        return {"drawn_number": None, "number_parity": None, "choices": choices, **view}

    def _position(self, state: State) -> Position:
        """The position after all moves."""
        moves = tuple(state["moves"])
        # Each of these positions is kept, so the next call starts from it.
        for replayed in range(MAX_STEPS, len(moves), MAX_STEPS):
            _position_after(self, moves[:replayed])
        return _position_after(self, moves)

    def first_position(self) -> Position:
        """The empty board."""
        board = ((EMPTY,) * self.columns,) * self.rows
        return Position(board, legal=tuple(self.legal_moves(board)))

    def next_position(self, before: Position, move: int) -> Position:
        """The position after one more legal move."""
        row, column = self.cell_of(before.board, move)
        mark, old_row = MARKS[len(before.cells) % 2], before.board[row]
        new_row = (*old_row[:column], mark, *old_row[column + 1 :])
        board = (*before.board[:row], new_row, *before.board[row + 1 :])
        cells = (*before.cells, (row, column))
        winning = tuple(self._line(board, cells))
        return Position(board, cells, winning, () if winning else tuple(self.legal_moves(board)))

    def _line(self, board: Board, cells: Sequence[Cell]) -> list[Cell]:
        """The winning cells, or none. Only the last move can have won: an earlier win would have ended the game."""
        if not cells:
            return []
        winning = set[Cell]()
        for direction in DIRECTIONS:
            line = self._through(board, cells[-1], direction)
            if len(line) >= self.in_a_row:
                winning.update(line)
        return sorted(winning)

    def _through(self, board: Board, cell: Cell, direction: tuple[int, int]) -> list[Cell]:
        """The unbroken run of one mark through a cell."""
        mark = board[cell[0]][cell[1]]
        run = [cell]
        for sign in (1, -1):
            row, column = cell
            while True:
                row, column = row + sign * direction[0], column + sign * direction[1]
                if not (0 <= row < self.rows and 0 <= column < self.columns and board[row][column] == mark):
                    break
                run.append((row, column))
        return run


@lru_cache(maxsize=MAX_KEPT_POSITIONS)
def _position_after(game: BoardGame, moves: tuple[int, ...]) -> Position:
    """The position after these moves; the positions before it are kept, too."""
    if not moves:
        return game.first_position()
    return game.next_position(_position_after(game, moves[:-1]), moves[-1])
