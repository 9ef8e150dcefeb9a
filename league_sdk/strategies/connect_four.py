"""Search: Connect Four, as many moves ahead as there is time for (004 3.8).

The idea (alpha-beta with iterative deepening): as in tic_tac_toe.py, a position is worth what the best move makes of
it. But nobody can play out all games of Connect Four in thought. So it looks one move ahead, then two, then three,
until its time is over; what the last complete search found counts. At the end of a search it guesses what the position
is worth: for each row of four cells that one player may still fill, a point for one disc in it, four for two, nine for
three. A move that is already known to be worse than another one is not looked at any further (that is alpha-beta).

What it can gain: it sees threats and double threats many moves before they happen, and wins most matches against
players that look one move ahead (docs/strategies.md has the figures). It never overlooks a win in one move or one that
it must stop, however little time it has.

What it cannot gain: certainty. A player that begins in the middle can always win Connect Four, but to know how takes a
search to the end, which Python does not reach in a second. Where it sees no end it guesses, and may lose to a player
that looks less far. In games of chance it is no better than random choices.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from league_sdk.rules.connect_four import COLUMNS, ROWS, ConnectFour
from league_sdk.strategies.careful import Careful
from league_sdk.strategies.positions import position
from league_sdk.strategies.time_left import thinking_time, utc_now

BUDGET_S = 1.0
"""Far below the 30 s that a league gives for a move, so that a match stays worth watching."""
WIN = 10_000
"""More than any guess; a win is worth this, less the number of discs on the board."""
MIN_DEPTH = 2
"""How many moves ahead it looks even if there is no time left: so it sees its own win and the opponent's answer."""

# A cell is a bit: column 0 has bits 0 to 5 from the bottom, column 1 has bits 7 to 12, and so on. The bit above each
# column (6, 13, …) is never set, so that a row of four cannot run from the top of a column to the bottom of the next.
HEIGHT = ROWS + 1
UP, RIGHT = 1, HEIGHT
DIRECTIONS = (UP, RIGHT, RIGHT + UP, RIGHT - UP)


class OutOfTime(Exception):
    """The time for this move is over."""


class Position(NamedTuple):
    """The discs of both players.

    Attributes:
        mine: the discs of the player who is to move.
        all: the discs of both.
    """

    mine: int = 0
    all: int = 0

    @property
    def theirs(self) -> int:
        """The discs of the player who has just moved."""
        return self.mine ^ self.all

    def columns(self) -> list[int]:
        """The columns that are not full, the middle one first: good moves first let alpha-beta skip more."""
        return [column for column in FROM_THE_MIDDLE if not self.all & bit(column, ROWS - 1)]

    def drop(self, column: int) -> Position:
        """The position after a disc fell down a column; the other player is to move."""
        # Adding the lowest cell of a column carries over its discs and sets the first free cell.
        return Position(self.theirs, self.all | (self.all + bit(column, 0)))


class Search(Careful):
    """Plays the column that the deepest search in the time found best; plays other games as :class:`Careful` does.

    Args:
        rng: which of two columns that are equally far from the middle is looked at first.
        budget_s: seconds for a move; less if its deadline is near.
        max_depth: how many moves ahead it looks at most.
        clock: monotonic seconds.
        now: the time of day, for the deadline.
    """

    quick = False

    def __init__(
        self,
        rng: random.Random | None = None,
        *,
        budget_s: float = BUDGET_S,
        max_depth: int = ROWS * COLUMNS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(rng)
        self.budget_s, self.max_depth, self.clock, self.now = budget_s, max_depth, clock, now

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        found = position(context.get("game_type"), state)
        if found is None or not isinstance(found[0], ConnectFour):
            return super().move(options, state, context)
        end = self.clock() + thinking_time(self.budget_s, context, self.now())
        return self.best(after(found[1]["moves"]), end)

    def best(self, board: Position, end: float) -> int:
        """The best column that is found until the clock shows ``end``."""
        columns = sorted(board.columns(), key=lambda column: (abs(column - COLUMNS // 2), self.rng.random()))
        for depth in range(1, min(self.max_depth, free_cells(board)) + 1):
            try:
                values = self._search(board, columns, depth, end if depth > MIN_DEPTH else None)
            except OutOfTime:
                break
            # The best first: the next, deeper search then has less to look at.
            columns.sort(key=lambda column: -values[column])
            if abs(values[columns[0]]) > WIN // 2:
                break  # The game is decided, however deep one looks.
        return columns[0]

    def _search(self, board: Position, columns: list[int], depth: int, end: float | None) -> dict[int, int]:
        """What the columns are worth; those that are worse than another one get no more than what that one is worth."""
        values, best = dict[int, int](), -WIN
        for column in columns:
            values[column] = -self._worth(board.drop(column), depth - 1, (-WIN, -best), end)
            best = max(best, values[column])
        return values

    def _worth(self, board: Position, depth: int, window: tuple[int, int], end: float | None) -> int:
        """What a position is worth to the player who is to move.

        Args:
            depth: how many moves further it looks.
            window: alpha and beta: only a value between these two matters. With less this player would have chosen
                another position before, with more the other player would have.
            end: when the clock shows this, the search stops; None: it goes on whatever the time.

        Raises:
            OutOfTime: the clock shows ``end``.
        """
        if end is not None and self.clock() >= end:
            raise OutOfTime
        if has_four(board.theirs):
            return board.all.bit_count() - WIN
        columns = board.columns()
        if not columns:
            return 0
        if depth == 0:
            return guess(board)
        alpha, beta = window
        for column in columns:
            alpha = max(alpha, -self._worth(board.drop(column), depth - 1, (-beta, -alpha), end))
            if alpha >= beta:
                break
        return alpha


def bit(column: int, row: int) -> int:
    """The bit of a cell; row 0 is at the bottom."""
    return 1 << (column * HEIGHT + row)


def after(moves: Iterable[int]) -> Position:
    """The position after these moves, from the empty board."""
    board = Position()
    for column in moves:
        board = board.drop(int(column))
    return board


def free_cells(board: Position) -> int:
    """How many discs still fit."""
    return ROWS * COLUMNS - board.all.bit_count()


def has_four(discs: int) -> bool:
    """Whether there are four discs in a row, in any direction."""
    for direction in DIRECTIONS:
        pairs = discs & (discs >> direction)
        if pairs & (pairs >> 2 * direction):
            return True
    return False


def guess(board: Position) -> int:
    """What a position looks like to the player who is to move: the rows of four that only one player can still fill."""
    total, mine, theirs = 0, board.mine, board.theirs
    for line in LINES:
        ours, others = (mine & line).bit_count(), (theirs & line).bit_count()
        if not others:
            total += ours * ours
        elif not ours:
            total -= others * others
    return total


def _lines() -> tuple[int, ...]:
    """All rows of four cells: 69 on this board."""
    cells = [bit(column, row) for column in range(COLUMNS) for row in range(ROWS)]
    board = sum(cells)
    rows = ([cell << step * direction for step in range(4)] for cell in cells for direction in DIRECTIONS)
    return tuple(sum(row) for row in rows if all(cell & board for cell in row))


FROM_THE_MIDDLE = tuple(sorted(range(COLUMNS), key=lambda column: abs(column - COLUMNS // 2)))
LINES = _lines()
