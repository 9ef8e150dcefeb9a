"""What the drawing of a match shows: its board, or who has locked in, the number drawn and who was right. Pure.

Before the end it shows public facts only, and of a game with hidden choices no facts of the referee at all. A view may
come from a student's referee: what is malformed is not shown, and sizes are bounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from league_sdk.rules.game import Game
from league_sdk.rules.registry import games
from matches.view.boards import Board, read_board

PLAIN, BOARD, ENVELOPES = "plain", "board", "envelopes"
OF_BOARDS = (BOARD, "cells", "discs")
"""Drawings of ours that need a board."""
OURS = (*OF_BOARDS, ENVELOPES)
"""Drawings that need no more of the view than the fields of :class:`Drawing`."""
MAX_VIEW_CHARS = 8192
MAX_LETTERS = 150
"""Marks of a board that are shown as letters; more would be as much to send as all other drawings of a scene."""
MAX_NUMBERED_CELLS = 36
MAX_FACTS, MAX_FACT_CHARS, MAX_CHOICE_CHARS = 6, 40, 8
SHOWN_BESIDE = ("players", "to_move", "choices", "drawn_number", "number_parity")
"""Fields of a view that a drawing in words leaves out; all but ``to_move`` stand beside it, or are empty."""
PARITIES = ("even", "odd")


class Seat(NamedTuple):
    """A player in a drawing.

    Attributes:
        choice: after the end, what it chose in secret; empty if it made no choice, or in a game in turns.
        right: after the end, whether it has :attr:`Drawing.parity`; None where there is no right and wrong.
    """

    player_id: str
    joined: bool = False
    locked_in: bool = False
    won: bool = False
    choice: str = ""
    right: bool | None = None


class Line(NamedTuple):
    """A winning line, from the column and row of one end to those of the other."""

    x1: int
    y1: int
    x2: int
    y2: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A board with the cells of each player, as column and row.

    Attributes:
        a, b: cells of PLAYER_A and PLAYER_B, if X is the mark of the one and O of the other; they are shown as shapes.
        letters: otherwise every marked cell with its mark and its seat (a, b or empty).
        last: the cell of the last move.
        moves: how many there were.
    """

    rows: int
    columns: int
    a: tuple[tuple[int, int], ...] = ()
    b: tuple[tuple[int, int], ...] = ()
    letters: tuple[tuple[int, int, str, str], ...] = ()
    last: tuple[int, int] | None = None
    lines: tuple[Line, ...] = ()
    column_names: tuple[str, ...] = ()
    moves: int = 0

    @property
    def box(self) -> str:
        """The ``viewBox``: a cell is ten units wide, and names of columns stand above the first row."""
        head = 8 if self.column_names else 0
        return f"-2 {-2 - head} {10 * self.columns + 4} {10 * self.rows + 4 + head}"

    @property
    def width(self) -> int:
        return 10 * self.columns

    @property
    def height(self) -> int:
        return 10 * self.rows

    @property
    def cells(self) -> list[tuple[int, int, int]]:
        """Every cell with its number, row by row from 0; none of a board with too many to be read."""
        if self.rows * self.columns > MAX_NUMBERED_CELLS:
            return []
        return [(x, y, y * self.columns + x) for y in self.down for x in self.across]

    @property
    def across(self) -> range:
        return range(self.columns)

    @property
    def down(self) -> range:
        return range(self.rows)


@dataclass(frozen=True, slots=True)
class Drawing:
    """What the templates of a game are given. It can be hashed: a drawing that has not changed is not rendered again.

    Attributes:
        kind: the folder of templates below ``games``.
        a, b: PLAYER_A and PLAYER_B.
        over: whether the match has a result.
        to_move: on a board, the id of the player whose turn it is; empty without a board and after the end.
        number: the number drawn, after the end; empty in other games.
        total: the sum, in a game in which the sum decides.
        parity: that of the sum if there is one, else of the number.
        commitment: the first characters of the digest that was published before the choices; empty if there is none.
        text: the game's public facts as JSON, of a game with hidden choices only after the end; ``{}`` for drawings in
            ``OURS``, and where the facts are too long.
    """

    kind: str
    a: Seat
    b: Seat
    over: bool = False
    grid: Grid | None = None
    to_move: str = ""
    number: str = ""
    parity: str = ""
    total: str = ""
    commitment: str = ""
    text: str = "{}"

    def __hash__(self) -> int:
        """A hash of the parts that usually differ between drawings; hashing all cells of a board takes too long."""
        moves = (self.grid.moves, self.grid.last) if self.grid is not None else None
        return hash((self.kind, self.a, self.b, self.over, moves, self.number, self.commitment))

    @property
    def view(self) -> dict[str, Any]:
        """The public facts, for the templates of other games."""
        facts: dict[str, Any] = json.loads(self.text)
        return facts

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The first public facts in words: name and value."""
        pairs = ((name, _in_words(value)) for name, value in self.view.items() if name not in SHOWN_BESIDE)
        return [(name.replace("_", " ")[:MAX_FACT_CHARS], text) for name, text in pairs if text][:MAX_FACTS]


def drawing_of(
    game_type: str,
    view: Mapping[str, Any],
    seats: tuple[Seat, Seat],
    *,
    over: bool = False,
    commitment: str = "",
    board: Board | None = None,
) -> Drawing:
    """The drawing of a match.

    Args:
        game_type: the type of its league; the game may not be installed any more.
        view: the public facts that the referee told; after the end the details of the result.
        seats: who has joined, locked in and won.
        over: whether the match has a result.
        commitment: the first characters of the commitment to the drawn number, as they are shown.
        board: the board in the view, if it has been read already.
    """
    game = games().get(game_type)
    hidden = game is not None and game.hidden
    facts = dict(view) if over or not hidden else {}
    if not facts and game is not None and not hidden:
        facts = _at_the_start(game, (seats[0].player_id, seats[1].player_id))
    if board is None or not facts:
        board = read_board(facts, (seats[0].player_id, seats[1].player_id))
    grid = grid_of(board) if board is not None else None
    if grid is not None and len(grid.letters) > MAX_LETTERS:
        grid = None
    kind = _kind(game, grid)
    text = "{}" if kind in OURS else _as_text(facts)
    drawing = Drawing(kind, *seats, over=over, commitment=commitment, text=text)
    if board is not None and grid is not None:
        return replace(drawing, grid=grid, to_move="" if over else board.to_move or "")
    return _opened(drawing, facts) if over else drawing


def _kind(game: Game | None, grid: Grid | None) -> str:
    kind = game.drawing if game is not None else ""
    if kind and (grid is not None or kind not in OF_BOARDS):
        return kind
    if grid is not None:
        return BOARD
    return ENVELOPES if game is not None and game.hidden else PLAIN


@lru_cache(maxsize=1024)
def _at_the_start(game: Game, players: tuple[str, str]) -> dict[str, Any]:
    """What a game in turns looks like before the first move; empty if the game, which may be a package's, fails."""
    try:
        return dict(game.view(game.new_state(players), None))
    except Exception:
        return {}


def _as_text(facts: Mapping[str, Any]) -> str:
    """The facts as JSON; none if they are too long, which is noticed before all of them are written."""
    parts, size = [], 0
    for part in json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str).iterencode(facts):
        parts.append(part)
        size += len(part)
        if size > MAX_VIEW_CHARS:
            return "{}"
    return "".join(parts)


def _in_words(value: object) -> str:
    if isinstance(value, bool | int | float | str):
        return str(value)[:MAX_FACT_CHARS]
    if isinstance(value, list) and value and all(isinstance(item, int | float | str) for item in value):
        return ", ".join(str(item)[:MAX_FACT_CHARS] for item in value[-MAX_FACT_CHARS:])[-MAX_FACT_CHARS:]
    return ""


# Secret choices and a number ----------------------------------------------------------------------


def _opened(drawing: Drawing, details: Mapping[str, Any]) -> Drawing:
    """The drawing of a finished match without a board: what each player chose, the number, who was right."""
    parity = details.get("sum_parity", details.get("number_parity"))
    parity = parity if parity in PARITIES else ""
    return replace(
        drawing,
        a=_opened_seat(drawing.a, details, parity),
        b=_opened_seat(drawing.b, details, parity),
        number=_short(details.get("drawn_number")),
        parity=parity,
        total=_short(details.get("sum")),
    )


def _opened_seat(seat: Seat, details: Mapping[str, Any], parity: str) -> Seat:
    choices, parities = details.get("choices"), details.get("parities")
    choice = choices.get(seat.player_id) if isinstance(choices, Mapping) else None
    stands_for = parities.get(seat.player_id) if isinstance(parities, Mapping) else choice
    right = stands_for == parity if parity and choice is not None and stands_for in PARITIES else None
    return seat._replace(choice=_short(choice), right=right)


def _short(value: object) -> str:
    shown = isinstance(value, int | float | str) and not isinstance(value, bool)
    return str(value)[:MAX_CHOICE_CHARS] if shown else ""


# Boards -------------------------------------------------------------------------------------------


def grid_of(board: Board) -> Grid:
    """A board as it is shown: shapes if X is the mark of PLAYER_A and O of PLAYER_B, else letters."""
    cells = [(x, y, cell) for y, row in enumerate(board.rows) for x, cell in enumerate(row)]
    marked = [(x, y, cell) for x, y, cell in cells if cell.mark]
    shapes = all(cell.seat == {"X": "a", "O": "b"}.get(cell.mark) for _x, _y, cell in marked)
    return Grid(
        rows=len(board.rows),
        columns=len(board.rows[0]),
        a=tuple((x, y) for x, y, cell in marked if shapes and cell.seat == "a"),
        b=tuple((x, y) for x, y, cell in marked if shapes and cell.seat == "b"),
        letters=() if shapes else tuple((x, y, cell.mark, cell.seat) for x, y, cell in marked),
        last=next(((x, y) for x, y, cell in cells if cell.last), None),
        lines=lines_through([(x, y) for x, y, cell in cells if cell.won]),
        column_names=tuple(board.column_names),
        moves=len(board.moves),
    )


def lines_through(won: list[tuple[int, int]]) -> tuple[Line, ...]:
    """The straight lines of at least three winning cells; every winning cell by itself if there is no such line."""
    cells, lines = set(won), []
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
        for x, y in sorted(cells):
            if (x - dx, y - dy) in cells:
                continue
            length = 1
            while (x + length * dx, y + length * dy) in cells:
                length += 1
            if length >= 3:
                lines.append(Line(x, y, x + (length - 1) * dx, y + (length - 1) * dy))
    return tuple(lines or [Line(x, y, x, y) for x, y in sorted(cells)])
