"""The board of a league: its table, the current round, and what has just happened."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from django.conf import settings as site
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from league_sdk.protocol.states import MatchState
from matches.audience.pages import charts, evening, luck, notices, parts, screen_drawings, table
from matches.audience.pages.drawings import with_drawing
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import Deadline, MatchRow
from matches.audience.pages.results import recent_results
from matches.models import Match, Round
from matches.view import queries, sight
from matches.view.interest import MAX_DRAWINGS
from matches.view.rank_history import rank_history
from matches.view.readiness import read_ready
from matches.view.sight import View

FRAGMENTS = ("header", "notices", "standings", "evening", "current", "results", "feed", "ranks", "cross")
RECENT = 12
"""How many lines the feed has, and how many results are not folded away."""


def context(view: View, key: PageKey, *, with_luck: bool = True) -> dict[str, Any]:
    """The board as one audience sees it.

    Args:
        with_luck: whether the board says how much of the table is luck, as far as that is known.
    """
    current = _current(view)
    history = rank_history(view)
    head, lucky = parts.league_of(view), luck.of_table(view) if with_luck else None
    decisions = table.decisions(view)
    columns = table.columns(lucky, history, head.summary.rounds)
    matches = _matches(view, current)
    results = recent_results(view, at_least=RECENT)
    return {
        "league": head,
        "standings": table.rows(view, decisions, history, lucky, columns),
        "columns": columns,
        "luck": lucky,
        "decisions": decisions,
        "left_out": {code: read_ready(stored).label for code, stored in sorted(view.league.left_out.items())},
        "matches": _rows_with_drawings(
            [(_match(match, view), match) for match in matches], view, current, staff=key.staff
        ),
        "bye": parts.player_of(view, current.bye.code) if current is not None and current.bye is not None else None,
        "results": results[:RECENT],
        "earlier_results": results[RECENT:],
        "feed": parts.feed(view, RECENT),
        "ledger": _ledger(view),
        "seq": view.moment.seq,
        "notices": notices.of_view(view),
        # Lazy, as the replay shows the board without charts.
        "ranks": SimpleLazyObject(lambda: charts.ranks(view, history)),
        "cross": SimpleLazyObject(lambda: charts.cross(view)),
        "evening": SimpleLazyObject(lambda: evening.of_view(view)),
        "socket_path": socket_path(key) if view.live else None,
    }


def _current(view: View) -> Round | None:
    round_then = view.moment.current
    if round_then is None:
        return None
    return view.league.rounds.select_related("bye").filter(number=round_then.number).first()


# The round that is on ---------------------------------------------------------------------------


def _matches(view: View, current: Round | None) -> list[Match]:
    if current is None:
        return []
    # Only the columns that are shown: reading all of the agents' columns takes longer than reading the matches.
    matches = queries.for_rows(queries.matches_of(view.league).filter(round=current))
    return list(matches.only(*screen_drawings.COLUMNS, "view"))


def _match(match: Match, view: View) -> MatchRow:
    row = parts.match_row(match, view)
    # Each move of a game in turns has a deadline of its own, which is not known here.
    return replace(row, deadline=_deadline(match, view)) if row.result is None and row.board is None else row


def _rows_with_drawings(
    rows: list[tuple[MatchRow, Match]], view: View, current: Round | None, *, staff: bool
) -> list[MatchRow]:
    """The matches of the round; each match that has a drawing on the projector has a small one here, too."""
    with_drawings: Collection[str] = [row.match_id for row, _match in rows]
    if current is not None and view.is_present:
        moves = {match.match_id: len(match.moves) for _row, match in rows}
        with_drawings = screen_drawings.chosen(view, [row for row, _match in rows], moves, current.number, staff=staff)
    elif len(rows) > MAX_DRAWINGS:
        # Nobody follows a match of the past, so none of a large round is chosen.
        with_drawings = ()
    return [with_drawing(row, view, match.view) if row.match_id in with_drawings else row for row, match in rows]


def _deadline(match: Match, view: View) -> Deadline | None:
    """How long a running match waits for its players; None if unknown."""
    rules = view.league.rules
    limit_s = {
        MatchState.WAITING_FOR_PLAYERS: rules.join_timeout_s,
        MatchState.COLLECTING_CHOICES: rules.move_timeout_s,
    }.get(MatchState(match.state))
    if not view.is_present or limit_s is None or not match.lifecycle:
        return None
    waits = sum(rules.retry_base_s * rules.retry_factor**n for n in range(rules.max_retries))
    tries = rules.max_retries + 1
    longest = min(rules.request_patience_s, tries * limit_s + waits)
    return Deadline(match.lifecycle[-1]["at"], f"{limit_s:g}", f"{longest:g}", tries)


# The ledger -------------------------------------------------------------------------------------


class Ledger(NamedTuple):
    """The hash of the last event in the ledger, the address of all events, and the command that verifies them."""

    head: str
    url: str
    command: str


def _ledger(view: View) -> Ledger | None:
    """The ledger up to the moment of the view.

    During a freeze the staff, too, get the head of the public ledger, as no other can be verified there.
    """
    league = view.league
    behind_freeze = view.is_present and league.frozen_seq is not None
    head = sight.public(league).head if behind_freeze else view.head
    if not head:
        return None
    address = f"{site.LEAGUE_PUBLIC_URL.rstrip('/')}{reverse('board', args=[league.pk])}"
    command = f"python -m league_sdk verify {address} --head {head}"
    return Ledger(head, f"/api/leagues/{league.pk}/ledger", command)
