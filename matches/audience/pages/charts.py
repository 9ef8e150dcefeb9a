"""The charts of a league: ranks and points by round, the cross table, and how fast the players answer.

Each is a table in the page; from the first two the browser draws lines (``static/js/charts.js``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language

from league_sdk.ledger.standings import natural
from matches.audience.pages import parts, times
from matches.audience.pages.keys import PageKey, socket_path
from matches.view.rank_history import RankHistory, rank_history
from matches.view.sight import View
from matches.words.match import letter

FRAGMENTS = ("header", "ranks", "race", "cross", "times")
MAX_LINES = 60
"""How many lines a chart has room for: those of the first players of the table."""
MAX_CROSSED = 60
"""The largest number of players for which there is a cross table, as its size grows with the square."""


def context(view: View, key: PageKey) -> dict[str, Any]:
    """All charts of a league as one audience sees it."""
    history = rank_history(view)
    return {
        "league": parts.league_of(view),
        # Lazy, as most live renderings leave the charts out.
        "ranks": SimpleLazyObject(lambda: ranks(view, history)),
        "race": SimpleLazyObject(lambda: race(view, history)),
        "cross": SimpleLazyObject(lambda: cross(view)),
        "times": SimpleLazyObject(lambda: times.of_league(view)),
        "socket_path": socket_path(key) if view.live else None,
    }


# By round ---------------------------------------------------------------------------------------


class ChartLine(NamedTuple):
    """The line of one player: a value for each round."""

    player_id: str
    display_name: str
    values: list[int]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines by round, the players by their last rank; ``left_out`` is the number of players without a line."""

    rounds: list[int]
    rows: list[ChartLine]
    left_out: int


def ranks(view: View, history: RankHistory, max_lines: int = MAX_LINES) -> Chart | None:
    """The chart of ranks by round; None before the first result."""
    return _by_round(view, history, history.ranks, max_lines)


def race(view: View, history: RankHistory, max_lines: int = MAX_LINES) -> Chart | None:
    """The chart of points by round; None before the first result."""
    return _by_round(view, history, history.points, max_lines)


def _by_round(view: View, history: RankHistory, values: Mapping[str, list[int]], max_lines: int) -> Chart | None:
    if not history.rounds:
        return None
    order = sorted(history.ranks, key=lambda player_id: history.ranks[player_id][-1])
    rows = [ChartLine(player_id, view.names[player_id], values[player_id]) for player_id in order[:max_lines]]
    return Chart(history.rounds, rows, len(order) - len(rows))


# Everyone against everyone ----------------------------------------------------------------------


class Meeting(NamedTuple):
    """A match between the players of a row and a column, and how it ended for the player of the row."""

    match_id: str
    letter: str


@dataclass(frozen=True, slots=True)
class CrossRow:
    """A row of the cross table.

    Attributes:
        cells: for each player the matches against it; None for the player of the row.
        match_url: the address of a match's page, with M in place of the match id.
    """

    player: parts.Player
    cells: tuple[tuple[Meeting, ...] | None, ...]
    match_url: str

    @property
    def html(self) -> str:
        """The cells as HTML."""
        return _cells(self.cells, self.match_url, get_language())


@lru_cache(maxsize=1000)
def _cells(cells: tuple[tuple[Meeting, ...] | None, ...], match_url: str, _language: str | None) -> str:
    # Cached, as a new result changes only two rows, and a table of 30 players has 900 cells.
    start, end = match_url.rsplit("M", 1)
    return render_to_string("leagues/cross_cells.html", {"cells": cells, "start": start, "end": end})


@dataclass(frozen=True, slots=True)
class Cross:
    """The cross table; if there are too many players for one, ``too_many`` is the largest possible number, else 0."""

    rows: list[CrossRow]
    too_many: int = 0


def cross(view: View, max_players: int = MAX_CROSSED) -> Cross | None:
    """The cross table: for each pair of players the matches between them; None before the first result.

    Players are ordered by id, so that a new result moves no row; when the league is over, by rank.
    """
    outcomes = view.moment.outcomes
    if not outcomes:
        return None
    if len(view.names) > max_players:
        return Cross([], max_players)
    order = [row.player_id for row in view.standings] if view.over else sorted(view.names, key=natural)
    met: dict[tuple[str, str], list[Meeting]] = defaultdict(list)
    for outcome in sorted(outcomes.values(), key=lambda outcome: natural(outcome.match_id)):
        first, second = outcome.players
        met[first, second].append(Meeting(outcome.match_id, letter(outcome, first)))
        met[second, first].append(Meeting(outcome.match_id, letter(outcome, second)))
    match_url = parts.match_url(view, "M")
    rows = []
    for code in order:
        cells = tuple(None if code == other else tuple(met.get((code, other), ())) for other in order)
        rows.append(CrossRow(parts.player_of(view, code), cells, match_url))
    return Cross(rows)
