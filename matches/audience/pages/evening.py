"""The end of a league: podium, the champion's path through the rounds, and the evening in figures.

The projector shows them as scenes, the board as a part of its own, and the page to share as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from django.db import connection

from league_sdk.ledger.standings import Row, champions
from league_sdk.protocol.states import LeagueState
from matches.audience.pages import parts, times
from matches.events.history import Outcome
from matches.view.figures import Figures, figures
from matches.view.rank_history import RankHistory, rank_history
from matches.view.recent import Recent
from matches.view.sight import View
from matches.words import figures as words
from matches.words.match import letter

MAX_CACHED = 20
"""For how many leagues the figures are cached."""
MAX_STEPS = 3
"""How many players stand on the podium; if more are tied, the first ones of the table."""
MAX_PATHS = 2
"""Of how many champions the path is shown, if several share the first place."""
MAX_LETTERS, MAX_NAMES = 36, 12
"""With at most MAX_LETTERS rounds each point of a path has its letter and the opponent's id; with at most MAX_NAMES
rounds it has the opponent's name, too."""
WIDTH, HEIGHT, TOP = 1000, 220, 36
"""The size of the drawing of a path, and the margin above it."""
MARK_GAP = 40
"""Two points of a long path both show their round and place only if they are at least this far apart."""
MIN_DEPTH = 3
"""A path has room for at least this many places."""

_lock = threading.Lock()
_cached: Recent[Hashable, Known] = Recent(MAX_CACHED)


class Known(NamedTuple):
    """The part of an evening that is the same in every language and for every audience.

    Reading it takes a second in a large league.
    """

    figures: Figures
    fastest: tuple[str, int] | None
    rank_history: RankHistory


class Step(NamedTuple):
    """A step of the podium; ``height`` is 3 for first place, 2 and 1 for the next two."""

    row: Row
    player: parts.Player
    height: int


class PathStep(NamedTuple):
    """A round of a path; without an opponent the player had a bye, or its match counts nowhere."""

    round_number: int
    opponent: parts.Player | None
    letter: str
    place: int
    url: str
    x: str
    y: str


class PathMark(NamedTuple):
    """A point of a long path that shows its round and place; ``deepest``: it is the lowest, and not first place."""

    step: PathStep
    deepest: bool


@dataclass(frozen=True, slots=True)
class Path:
    """The path of one champion: its rounds, and the line of its places.

    Attributes:
        points: the points of an SVG polyline.
        letters: whether there is room for a letter and the opponent's id at each point.
        names: whether there is room for the opponents' names, too.
        marks: without letters, the points that give the line its scale: the first, the lowest and the last one.
    """

    row: Row
    steps: list[PathStep]
    points: str
    letters: bool
    names: bool
    marks: list[PathMark]


class Figure(NamedTuple):
    """A line of the figures with the players it names."""

    line: words.Line
    players: list[parts.Player]
    more: int
    url: str


@dataclass(frozen=True, slots=True)
class Evening:
    """The end of a league as one audience may know it."""

    champions: list[Row]
    steps: list[Step]
    paths: list[Path]
    figures: list[Figure]


def of_view(view: View) -> Evening | None:
    """The end of a league; None until it is completed in this view, for a stopped league, and if nothing was played."""
    if view.moment.state != LeagueState.COMPLETED or not view.moment.outcomes:
        return None
    known = _known(view)
    winners = champions(view.standings)
    fastest = (known.fastest[0], times.span(known.fastest[1])) if known.fastest is not None else None
    return Evening(
        winners,
        _steps(view) if winners else [],
        [path_of(view, row, known.rank_history) for row in winners[:MAX_PATHS]],
        [_figure(view, line) for line in words.lines(known.figures, fastest)],
    )


def _known(view: View) -> Known:
    league = view.league
    key = (league.pk, league.created_at, view.moment.seq, view.moment.head, len(view.names), view.scoring)
    with _lock:
        # One at a time: when the last place is unveiled, everybody asks at once.
        known = _cached.get(key)
        if known is None:
            known = _read(view)
            # What a transaction has read may be rolled back.
            if not connection.in_atomic_block:
                _cached[key] = known
    return known


def _read(view: View) -> Known:
    # With a column for every round, as a path shows every round.
    return Known(figures(view), _fastest(view), rank_history(view, max_columns=max(1, len(view.moment.rounds))))


def _fastest(view: View) -> tuple[str, int] | None:
    """The player that answered calls for a choice or a move the fastest, by the median, if it answered often enough."""
    rows = next((lane.rows for lane in times.of_league(view) if lane.name == "choice"), [])
    most = max((len(row.in_time) for row in rows), default=0)
    frequent = [row for row in rows if row.in_time and 2 * len(row.in_time) >= most]
    return (frequent[0].name, round(median(frequent[0].in_time))) if frequent else None


def _steps(view: View) -> list[Step]:
    """The podium. Tied players stand equally high; players without points, or out of the league, do not stand on it."""
    rows = [row for row in view.listed if row.points > 0 and row.out is None and row.tied_rank <= MAX_STEPS]
    return [Step(row, parts.player_of(view, row.player_id), 4 - row.tied_rank) for row in rows[:MAX_STEPS]]


def _figure(view: View, line: words.Line) -> Figure:
    shown = line.players[:2]
    url = parts.match_url(view, line.match_id) if line.match_id else ""
    return Figure(line, [parts.player_of(view, code) for code in shown], len(line.players) - len(shown), url)


# The path ---------------------------------------------------------------------------------------


def path_of(view: View, row: Row, history: RankHistory) -> Path:
    """The path of a player through the rounds."""
    outcomes = view.moment.outcomes.values()
    played = {outcome.round_number: outcome for outcome in outcomes if row.player_id in outcome.players}
    places = history.ranks[row.player_id]
    depth = max(MIN_DEPTH, *places) if places else MIN_DEPTH
    steps = []
    for at, (number, place) in enumerate(zip(history.rounds, places, strict=True)):
        x = WIDTH * (at + 0.5) / len(places)
        y = TOP + HEIGHT * (place - 1) / (depth - 1)
        steps.append(_path_step(view, row, number, place, played.get(number), (f"{x:.1f}", f"{y:.1f}")))
    points = " ".join(f"{step.x},{step.y}" for step in steps)
    letters = len(steps) <= MAX_LETTERS
    return Path(row, steps, points, letters, len(steps) <= MAX_NAMES, [] if letters else _marks(steps))


def _marks(steps: list[PathStep]) -> list[PathMark]:
    """The last point, and the lowest and the first one where there is room for their figures."""
    lowest = max(steps, key=lambda step: step.place)
    shown = [steps[-1]]
    for step in (lowest, steps[0]):
        if all(abs(float(step.x) - float(other.x)) >= MARK_GAP for other in shown):
            shown.append(step)
    shown.sort(key=lambda step: step.round_number)
    return [PathMark(step, step is lowest and step.place > 1) for step in shown]


def _path_step(view: View, row: Row, number: int, place: int, outcome: Outcome | None, at: tuple[str, str]) -> PathStep:
    if outcome is None:
        return PathStep(number, None, "", place, "", *at)
    other = outcome.players[outcome.players[0] == row.player_id]
    url = parts.match_url(view, outcome.match_id)
    return PathStep(number, parts.player_of(view, other), letter(outcome, row.player_id), place, url, *at)
