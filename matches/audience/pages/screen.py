"""The projector: what hangs on the wall of the room, one scene after the other, without controls.

Before the start it is the readiness wall, then table, matches and news in turn, during an unveiling the table from the
last place up, and at the end the champion. The scenes rotate in the browser (``static/js/screen.js``).
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from league_sdk.ledger.standings import Row
from league_sdk.protocol.states import LeagueState, MatchState
from matches.audience import qr
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import feed, league_of, match_dict, player_dict, result_line
from matches.events.history import Moment
from matches.models import Notice
from matches.view import queries, readiness
from matches.view.courses import Courses, courses
from matches.view.readiness import TileState
from matches.view.sight import View

FRAGMENTS = (
    "screen_head",
    "screen_notice",
    "screen_join",
    "screen_wall",
    "screen_finale",
    "screen_standings",
    "screen_matches",
    "screen_ranks",
    "screen_news",
)
WALL, PLAY, REVEAL, FINALE = "wall", "play", "reveal", "finale"
MOST_IN_COLUMN = 15
"""Rows of the table that the last row of the room can still read."""
TILES, TILE_SIZES = 100, (12, 30, 60)
"""Tiles on one sheet of the wall, and the numbers up to which they are larger."""
MATCHES, RECENT, EVENTS = 24, 10, 6
REVEAL_ROWS, REVEAL_ABOVE = 9, 4

MOST_IN_CHART, CHART_ROWS = 60, 16
"""Players up to which the lines of the chart can be told apart, and the places from the top that have their name."""
KEPT_CHARTS = 8

T = TypeVar("T")
_charts: OrderedDict[tuple[Any, ...], Courses] = OrderedDict()
_lock = threading.Lock()


def context(view: View, key: PageKey) -> dict[str, Any]:
    """The projector's scenes for one audience. Names of people are on the staff's wall only."""
    mode = mode_of(view)
    league = league_of(view)
    return {
        "league": league,
        "mode": mode,
        "notice": _notice(view),
        "join": _join(view) if mode == WALL else None,
        "wall": _wall(view, staff=key.staff) if mode == WALL else None,
        "reveal": _reveal(view) if mode == REVEAL else None,
        "podium": _rows(view.standings[:3]) if mode == FINALE else [],
        "standings": _table_sheets(view) if mode in (PLAY, FINALE) else [],
        **(_matches(view) if mode == PLAY else {"match_sheets": [], "bye": None}),
        "ranks": _ranks(view) if mode in (PLAY, FINALE) else None,
        "news": _news(view) if mode == PLAY else None,
        "socket_path": socket_path(key),
    }


def mode_of(view: View) -> str:
    """What the screen is now. Behind a curtain nothing tells that the league is over, until a place is unveiled."""
    if view.frozen_after is not None:
        return REVEAL if view.league.unveiled else PLAY
    if view.now and view.moment.state in (LeagueState.REGISTRATION, LeagueState.SCHEDULED):
        return WALL
    return FINALE if view.moment.state == LeagueState.COMPLETED else PLAY


def sheets(items: Sequence[T], most: int) -> list[list[T]]:
    """As few sheets as hold at most ``most`` items each, filled alike."""
    count = -(-len(items) // most)
    size = -(-len(items) // count) if count else 1
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def _notice(view: View) -> str:
    """What the instructor said to the room last, until it is taken down: on the wall whatever is shown."""
    said = Notice.objects.filter(league=view.league, agent__isnull=True, withdrawn_at__isnull=True)
    return str(said.order_by("-made_at", "-pk").values_list("text", flat=True).first() or "")


# Before the start -------------------------------------------------------------------------------


def _join(view: View) -> dict[str, Any]:
    url = settings.LEAGUE_PUBLIC_URL + reverse("join", args=[view.league.pk])
    shown = url.partition("://")[2]
    return {"url": url, "shown": shown, "qr": qr.svg(url, label=_("The address to register: %(url)s") % {"url": url})}


def _wall(view: View, *, staff: bool) -> dict[str, Any]:
    tiles = readiness.wall(view.league)
    counts = Counter(tile.state for tile in tiles)
    size = next((most for most in TILE_SIZES if len(tiles) <= most), TILES)
    return {
        "sheets": sheets(tiles if staff else [replace(tile, owner="") for tile in tiles], TILES),
        "size": size,
        "total": len(tiles),
        "able": sum(tile.passed for tile in tiles),
        "missing": counts[TileState.NOT_REGISTERED],
        "counts": [{"state": state, "n": counts[state]} for state in TileState if counts[state]],
    }


# While it is played -----------------------------------------------------------------------------


def _table_sheets(view: View) -> list[dict[str, Any]]:
    """The table in one column, else in two, else on several sheets."""
    rows = _rows(view.standings, view)
    if len(rows) <= MOST_IN_COLUMN:
        return [{"columns": [rows], "rows": len(rows), "number": 1, "of": 1}] if rows else []
    pages = sheets(rows, 2 * MOST_IN_COLUMN)
    size = -(-len(pages[0]) // 2)
    return [
        {"columns": sheets(page, size), "rows": size, "number": number, "of": len(pages)}
        for number, page in enumerate(pages, start=1)
    ]


def _rows(rows: Sequence[Row], view: View | None = None) -> list[dict[str, Any]]:
    """Rows of the table; with the view also the places gained since the round before."""
    current = view.moment.current if view is not None else None
    earlier = {}
    if view is not None and current is not None and current.number > 1:
        earlier = {row.player_id: row.rank for row in view.table(before_round=current.number)}
    return [
        queries.wire_row(row)
        | {"form": row.form, "out": row.out, "delta": earlier.get(row.player_id, row.rank) - row.rank}
        for row in rows
    ]


def _matches(view: View) -> dict[str, Any]:
    """The matches of the round that is on, those that are being played first; none once they are all done."""
    current = view.moment.current
    none: dict[str, Any] = {"match_sheets": [], "bye": None}
    if current is None or current.completed_at is not None:
        return none
    on = view.league.rounds.select_related("bye").filter(number=current.number).first()
    if on is None:
        return none
    found = [match_dict(match, view) for match in queries.matches_of(view.league).filter(round=on)]
    found.sort(key=lambda match: match["state"] == MatchState.FINISHED)
    return {"match_sheets": sheets(found, MATCHES), "bye": player_dict(on.bye, view) if on.bye is not None else None}


def _ranks(view: View) -> dict[str, Any] | None:
    """Rank by round, of the rounds that are over: a chart for the back row does not twitch with every result."""
    then = view.moment
    over = {number for number, one in then.rounds.items() if one.completed_at is not None}
    if len(over) < 2 or len(view.names) > MOST_IN_CHART:
        return None
    outcomes = {match_id: one for match_id, one in then.outcomes.items() if one.round_number in over}
    if not outcomes:
        return None
    found = _courses(view, replace(then, outcomes=outcomes))
    order = sorted(found.ranks, key=lambda player_id: found.ranks[player_id][-1])[:CHART_ROWS]
    return {
        "rounds": found.rounds,
        "rows": [{"player_id": code, "display_name": view.names[code], "values": found.ranks[code]} for code in order],
    }


def _courses(view: View, then: Moment) -> Courses:
    """The courses of a moment; made anew only when a round is over or something earlier was corrected."""
    results = tuple((match_id, one.seq) for match_id, one in then.outcomes.items())
    changed = tuple((number, one["undone"]) for number, one in then.corrections.items())
    key = (view.league.pk, view.league.created_at, view.scoring, results, changed, tuple(sorted(view.names)))
    with _lock:
        found = _charts.get(key)
    if found is None:
        found = courses(replace(view, moment=then))
        with _lock:
            _charts[key] = found
            while len(_charts) > KEPT_CHARTS:
                _charts.popitem(last=False)
    return found


def _news(view: View) -> dict[str, Any]:
    return {
        "results": [result_line(one, view) for one in list(view.moment.outcomes.values())[: -RECENT - 1 : -1]],
        "events": feed(view, EVENTS),
    }


# At the end -------------------------------------------------------------------------------------


def _reveal(view: View) -> dict[str, Any]:
    """The part of the table around the place that was unveiled last: what is still veiled above, the known below."""
    rows = view.standings
    newest = len(rows) - view.league.unveiled
    first = max(0, min(newest - REVEAL_ABOVE, len(rows) - REVEAL_ROWS))
    window = _rows(rows)[first : first + REVEAL_ROWS]
    for place, row in enumerate(window, start=first):
        row["place"] = "veiled" if place < newest else "newest" if place == newest else "known"
    return {"rows": window, "above": first, "below": max(0, len(rows) - first - REVEAL_ROWS), "veiled": newest}
