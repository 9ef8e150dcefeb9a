"""The charts of a league: places and points by round, everyone against everyone, how fast the players answer.

Each is a table in the page; the browser draws the first two from theirs (``static/js/charts.js``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import median
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from league_sdk.ledger.standings import natural
from league_sdk.protocol.states import LeagueState
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import as_staff, league_of
from matches.audience.pages.player import letter
from matches.audience.pages.player_figures import ANSWERS, is_time, place_of, span
from matches.events.history import Outcome
from matches.models import Message
from matches.view.courses import Courses, courses
from matches.view.sight import View
from matches.words import board

FRAGMENTS = ("header", "ranks", "race", "cross", "times")
MOST_LINES = 60
"""Players whose lines a chart has room for, the first of the table."""
MOST_CROSSED = 60
"""Players up to whom there is a cross table: its cells are their square."""
MOST_ANSWERS = 20_000
"""Answers that are looked at, ten times those of a class of thirty. The first ones: what comes later, and may not be
shown yet, takes no place away from what is shown."""
_ANSWER = ("match__match_id", "attempt", "entry__sender", "entry__elapsed_ms", "entry__limit_ms", "entry__problem")


def context(view: View, key: PageKey) -> dict[str, Any]:
    """All charts of a league as one audience sees it."""
    found = courses(view)
    return {
        "league": league_of(view),
        "ranks": ranks(view, found),
        "race": race(view, found),
        "cross": cross(view),
        "times": times(view),
        "socket_path": socket_path(key) if view.now or view.frozen_after is not None else None,
    }


# By round ---------------------------------------------------------------------------------------


def ranks(view: View, found: Courses) -> dict[str, Any] | None:
    """Places by round, the players in the order of the last one; None while nothing has a result."""
    return _by_round(view, found, found.ranks)


def race(view: View, found: Courses) -> dict[str, Any] | None:
    """Points by round, the players in the order of the table after the last one; None while nothing has a result."""
    return _by_round(view, found, found.points)


def _by_round(view: View, found: Courses, values: Mapping[str, list[int]]) -> dict[str, Any] | None:
    if not found.rounds:
        return None
    order = sorted(found.ranks, key=lambda player_id: found.ranks[player_id][-1])[:MOST_LINES]
    return {
        "left_out": len(found.ranks) - len(order),
        "rounds": found.rounds,
        "last": found.rounds[-1],
        "rows": [
            {"player_id": player_id, "display_name": view.names[player_id], "values": values[player_id]}
            for player_id in order
        ],
    }


# Everyone against everyone ----------------------------------------------------------------------


def cross(view: View) -> dict[str, Any] | None:
    """The cross table: for each pair how it ended for the player of the row, with a link to the match.

    The players stand in the order of their ids, so that a new result changes two cells and moves nothing; once the
    league is over, in that of the table. None while nothing has a result.
    """
    outcomes = view.moment.outcomes
    if not outcomes:
        return None
    names = view.names
    if len(names) > MOST_CROSSED:
        return {"too_many": MOST_CROSSED}
    over = view.moment.state in (LeagueState.COMPLETED, LeagueState.STOPPED)
    order = [row.player_id for row in view.standings] if over else sorted(names, key=natural)
    shown = board.letters()
    met: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for outcome in sorted(outcomes.values(), key=lambda one: natural(one.match_id)):
        first, second = outcome.players
        met[first, second].append(_cell(outcome, first, shown))
        met[second, first].append(_cell(outcome, second, shown))
    # Addresses of matches are this with their id; not resolved 900 times.
    matches_url, end = reverse("match", args=[view.league.pk, "M"]).removesuffix("M/"), f"/{as_staff(view)}"
    rows = []
    for code in order:
        cells = [None if code == other else met.get((code, other), ()) for other in order]
        drawn = _drawn(cells, matches_url, end)
        rows.append({"player_id": code, "display_name": names[code], "cells": cells, "drawn": drawn})
    return {"order": [{"player_id": code, "display_name": names[code]} for code in order], "rows": rows}


def _drawn(cells: Sequence[Sequence[Mapping[str, str]] | None], matches_url: str, end: str) -> SafeString:
    """A row's cells as HTML. Nine hundred of them in a template's loop took a third of the time of the whole board."""
    found = []
    for cell in cells:
        if cell is None:
            found.append('<td class="self"></td>')
        else:
            links = [_link(one["letter"], f"{matches_url}{one['match_id']}{end}", one["shown"]) for one in cell]
            found.append(f"<td>{''.join(links)}</td>")
    return mark_safe("".join(found))  # noqa: S308 - of links that are escaped


@lru_cache(maxsize=10_000)
def _link(sign: str, address: str, shown: str) -> str:
    # Kept as text: a result that stands is the same link at the next push.
    return str(format_html('<a class="x-{}" href="{}">{}</a>', sign, address, shown))


def _cell(outcome: Outcome, player_id: str, shown: Mapping[str, str]) -> dict[str, str]:
    sign = letter(outcome, player_id)
    return {"match_id": outcome.match_id, "letter": sign, "shown": shown[sign]}


# How fast they answer ---------------------------------------------------------------------------


def times(view: View) -> dict[str, Any] | None:
    """Median and slowest answer of each player to invitations and choices, the quickest first; one query.

    Only matches with a result in this view, and of these only the attempts that there were by then. None while there
    is no answer that was timed.
    """
    taken: dict[str, list[int]] = defaultdict(list)
    late: dict[str, int] = defaultdict(int)
    limit = 0
    for match_id, attempt, sender, elapsed, given, problem in _answers(view):
        outcome = view.outcome(match_id)
        # A student's referee may have written anything.
        if outcome is None or attempt > outcome.attempt or not (is_time(elapsed) and is_time(given) and given):
            continue
        player_id = sender.removeprefix("player:") if isinstance(sender, str) else ""
        if player_id not in outcome.players:
            continue
        if elapsed >= given:
            late[player_id] += 1
        elif not problem:
            taken[player_id].append(elapsed)
        limit = max(limit, given)
    timed = [code for code in view.names if taken[code] or late[code]]
    if not timed:
        return None
    slowest = max(2, limit, *(max(taken[code], default=0) for code in timed))
    rows = [
        {
            "player_id": code,
            "display_name": view.names[code],
            "answers": len(taken[code]) + late[code],
            "late": late[code],
            **_span(taken[code], slowest),
        }
        for code in sorted(timed, key=lambda code: (median(taken[code]) if taken[code] else math.inf, natural(code)))
    ]
    ticks = [tick for tick in (10, 100, 1000, 10_000, 100_000) if tick < slowest]
    return {"rows": rows, "ticks": [{"x": place_of(tick, slowest), "label": span(tick)} for tick in ticks]}


def _answers(view: View) -> Any:
    answers = Message.objects.filter(match__league=view.league, entry__message_type__in=list(ANSWERS))
    return answers.order_by("pk").values_list(*_ANSWER)[:MOST_ANSWERS]


def _span(taken: list[int], most: int) -> dict[str, Any]:
    if not taken:
        return {"median": _("none in time"), "slowest": "", "line": None}
    middle, last = median(taken), max(taken)
    return {
        "median": span(round(middle)),
        "slowest": span(last),
        "line": {"first": place_of(min(taken), most), "middle": place_of(middle, most), "last": place_of(last, most)},
    }
