"""The projector page for the class room: scenes that change by themselves.

Keys at the projector and the remote control can hold or turn them.

Before the start it shows the readiness wall; then table, matches and news in turn; during the unveiling the table
from the last place up; at the end the champion, the podium, the champion's path and the evening in figures.
``static/js/screen.js`` rotates the scenes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from league_sdk.ledger.standings import Row, champions
from league_sdk.protocol.states import LeagueState
from matches.audience import qr
from matches.audience.pages import charts, evening, luck, notices, parts, screen_drawings
from matches.audience.pages.keys import PageKey, socket_path
from matches.view.rank_history import places_gained, rank_history
from matches.view.screens import steering
from matches.view.sight import View
from matches.view.wall import STATES, NotRegistered, Tile, TileState, wall

FRAGMENTS = (
    "screen_head",
    "screen_notice",
    "screen_join",
    "screen_wall",
    "screen_finale",
    "screen_evening",
    "screen_standings",
    "screen_drawings",
    "screen_matches",
    "screen_ranks",
    "screen_news",
    "screen_remote",
)
WALL, PLAY, REVEAL, FINALE = "wall", "play", "reveal", "finale"
MAX_IN_COLUMN = 15
"""How many rows the table has in one column, so that they can be read from the back of the room."""
TILES_PER_SHEET, TILE_SIZES = 100, (12, 30, 60)
"""How many tiles are on one sheet of the wall; with at most 12, 30 or 60 tiles they are drawn larger."""
MATCHES_PER_SHEET, RESULTS_SHOWN, EVENTS_SHOWN = 24, 10, 6
REVEAL_ROWS, REVEAL_ABOVE = 9, 4

MAX_ON_PODIUM = 3
"""How many players are shown at the end, champions included; more only if there are more champions."""
MAX_IN_CHART, CHART_ROWS = 60, 16
"""A league with more than MAX_IN_CHART players has no chart of ranks; in a chart the first CHART_ROWS have a line."""

T = TypeVar("T")


def context(view: View, key: PageKey) -> dict[str, Any]:
    """The scenes for one audience; only the staff's wall shows names of people."""
    mode = mode_of(view)
    notice = notices.to_room(view.league).first()
    winners = champions(view.standings)
    lucky = luck.of_table(view) if mode in (PLAY, FINALE) else None
    return {
        "league": parts.league_of(view),
        "mode": mode,
        "notice": notice.text if notice is not None else "",
        "join": _join(view) if mode == WALL else None,
        "wall": _wall(view, staff=key.staff) if mode == WALL else None,
        "reveal": reveal_of(view) if mode == REVEAL else None,
        "champions": winners if mode == FINALE else [],
        "podium": view.listed[len(winners) : MAX_ON_PODIUM] if mode == FINALE else [],
        "evening": evening.of_view(view) if mode == FINALE else None,
        "standings": _table_sheets(view, lucky.bars if lucky is not None else {}) if mode in (PLAY, FINALE) else [],
        "luck": lucky,
        **(_matches(view, staff=key.staff) if mode == PLAY else {}),
        "ranks": ranks(view) if mode in (PLAY, FINALE) else None,
        "news": _news(view) if mode == PLAY else None,
        "steering": steering(view.league.screen),
        "socket_path": socket_path(key),
    }


def mode_of(view: View) -> str:
    """Which scenes are shown. Behind a freeze the end of the league stays secret until a place is unveiled."""
    if view.frozen_after is not None:
        return REVEAL if view.league.unveiled else PLAY
    if view.is_present and view.moment.state in (LeagueState.REGISTRATION, LeagueState.SCHEDULED):
        return WALL
    return FINALE if view.moment.state == LeagueState.COMPLETED else PLAY


def sheets(items: Sequence[T], max_items: int) -> list[list[T]]:
    """Split items into the fewest sheets of at most ``max_items`` items, filled evenly."""
    count = -(-len(items) // max_items)
    size = -(-len(items) // count) if count else 1
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


# Before the start -------------------------------------------------------------------------------


class Join(NamedTuple):
    """The address of the join page, without its scheme, and as a QR code."""

    shown: str
    qr: qr.Code


def _join(view: View) -> Join:
    url = settings.LEAGUE_PUBLIC_URL + reverse("join", args=[view.league.pk])
    return Join(url.partition("://")[2], qr.code_of(url, label=_("The address to register: %(url)s") % {"url": url}))


@dataclass(frozen=True, slots=True)
class Wall:
    """The tiles of all students on sheets; ``size`` is one of :data:`TILE_SIZES` or the number of tiles on a sheet."""

    sheets: list[list[Tile]]
    size: int
    total: int
    able: int
    counts: list[tuple[TileState, int]]
    missing: int


def _wall(view: View, *, staff: bool) -> Wall:
    tiles = wall(view.league)
    counts = Counter(tile.state for tile in tiles)
    return Wall(
        sheets(tiles if staff else [replace(tile, owner="") for tile in tiles], TILES_PER_SHEET),
        next((size for size in TILE_SIZES if len(tiles) <= size), TILES_PER_SHEET),
        len(tiles),
        sum(tile.able for tile in tiles),
        [(state, counts[state]) for state in STATES if counts[state]],
        counts[NotRegistered.NOT_REGISTERED],
    )


# While it is played -----------------------------------------------------------------------------


class ScreenRow(NamedTuple):
    """A line of the table; ``place`` is ``veiled``, ``newest`` or ``known`` during the unveiling, else empty."""

    row: Row
    delta: int = 0
    place: str = ""
    luck: luck.Bar | None = None


class TableSheet(NamedTuple):
    """The part of the table that fits on the screen, in columns of at most ``rows`` lines."""

    columns: list[list[ScreenRow]]
    rows: int


def _table_sheets(view: View, bars: Mapping[str, luck.Bar]) -> list[TableSheet]:
    """The table in one column, or if it is too long in two, or on several sheets."""
    gained = places_gained(view)
    rows = [ScreenRow(row, gained.get(row.player_id, 0), luck=bars.get(row.player_id)) for row in view.listed]
    if len(rows) <= MAX_IN_COLUMN:
        return [TableSheet([rows], len(rows))] if rows else []
    pages = sheets(rows, 2 * MAX_IN_COLUMN)
    size = -(-len(pages[0]) // 2)
    return [TableSheet(sheets(page, size), size) for page in pages]


def _matches(view: View, *, staff: bool) -> dict[str, Any]:
    """The current round: as many matches as can be read as drawings, the others in words. Empty when all are over."""
    current = view.moment.current
    if current is None or current.completed_at is not None:
        return {}
    playing = view.league.rounds.select_related("bye").filter(number=current.number).first()
    if playing is None:
        return {}
    shown = screen_drawings.round_on_screen(view, playing, staff=staff)
    return {
        "drawings": shown.drawings,
        "match_sheets": sheets(shown.others, MATCHES_PER_SHEET),
        "bye": parts.player_of(view, playing.bye.code) if playing.bye else None,
    }


def ranks(view: View, max_players: int = MAX_IN_CHART) -> charts.Chart | None:
    """The chart of ranks after each finished round, so that it does not move with every result.

    Args:
        max_players: the largest number of players for which there is a chart.
    """
    moment = view.moment
    over = {number for number, round_then in moment.rounds.items() if round_then.completed_at is not None}
    if len(over) < 2 or len(view.names) > max_players:
        return None
    outcomes = {match_id: outcome for match_id, outcome in moment.outcomes.items() if outcome.round_number in over}
    earlier = replace(view, moment=replace(moment, outcomes=outcomes))
    chart = charts.ranks(view, rank_history(earlier), CHART_ROWS)
    return chart and replace(chart, left_out=0)


class News(NamedTuple):
    """The latest results and events."""

    results: list[parts.Result]
    events: list[parts.FeedLine]


def _news(view: View) -> News:
    latest = list(view.moment.outcomes.values())[: -RESULTS_SHOWN - 1 : -1]
    return News([parts.Result(outcome, view) for outcome in latest], parts.feed(view, EVENTS_SHOWN))


# At the end -------------------------------------------------------------------------------------


class Reveal(NamedTuple):
    """A part of the table during the unveiling, and the number of places that are still veiled."""

    rows: list[ScreenRow]
    veiled: int


def reveal_of(view: View) -> Reveal:
    """The part of the table around the place that was unveiled last."""
    rows = view.standings
    newest = len(rows) - view.league.unveiled
    first = max(0, min(newest - REVEAL_ABOVE, len(rows) - REVEAL_ROWS))
    return Reveal(
        [
            ScreenRow(row, place="veiled" if place < newest else "newest" if place == newest else "known")
            for place, row in enumerate(rows[first : first + REVEAL_ROWS], start=first)
        ],
        newest,
    )
