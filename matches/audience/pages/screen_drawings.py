"""The running round on the projector: which of its matches have drawings, and these drawings.

The column ``view`` is read only for these matches, with one query.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from league_sdk.protocol.states import IN_PLAY, MatchState
from matches.audience.pages import parts
from matches.audience.pages.drawings import with_drawing
from matches.audience.pages.parts import MatchRow
from matches.models import Match, Round
from matches.view import queries
from matches.view.interest import Candidate, choose
from matches.view.recent import Recent
from matches.view.screens import steering
from matches.view.sight import View
from storage import clock

MAX_KEPT_ROUNDS = 100
COLUMNS = (
    *("league_id", "match_id", "state", "attempt", "joined", "locked_in", "moves", "lifecycle", "round__number"),
    *("player_a__code", "player_b__code", "referee__code"),
)

_lock = threading.Lock()
_shown: Recent[tuple[Any, ...], tuple[str, ...]] = Recent(MAX_KEPT_ROUNDS)
"""The match ids that each audience saw last, so that drawings stay where they are; a new process may choose afresh."""


class RoundOnScreen(NamedTuple):
    """The matches of a round, for the projector.

    Attributes:
        drawings: the matches with drawings; the first is shown large.
        others: the rest, in words; finished ones last.
    """

    drawings: list[MatchRow]
    others: list[MatchRow]


def round_on_screen(view: View, playing: Round, *, staff: bool) -> RoundOnScreen:
    """The matches of a round: those with drawings, and the others."""
    matches = list(queries.for_rows(queries.matches_in([playing])).only(*COLUMNS))
    rows = {match.match_id: parts.match_row(match, view, board=False) for match in matches}
    moves = {match.match_id: len(match.moves) for match in matches}
    with_drawings = chosen(view, rows.values(), moves, playing.number, staff=staff)
    views = _views(match.pk for match in matches if match.match_id in with_drawings and view.is_present)
    facts = {match.match_id: views.get(match.pk, {}) for match in matches}
    others = [replace(row, moves=moves[row.match_id]) for row in rows.values() if row.match_id not in with_drawings]
    return RoundOnScreen(
        [with_drawing(rows[match_id], view, facts[match_id]) for match_id in with_drawings],
        sorted(others, key=lambda row: row.state == MatchState.FINISHED),
    )


def _views(match_pks: Iterable[int]) -> dict[int, dict[str, Any]]:
    running = Match.objects.filter(pk__in=list(match_pks), state=MatchState.COLLECTING_CHOICES)
    return dict(running.order_by().values_list("pk", "view"))


def chosen(
    view: View, rows: Iterable[MatchRow], moves: dict[str, int], round_number: int, *, staff: bool
) -> Sequence[str]:
    """The ids of the matches that have drawings, the large one first (:mod:`matches.view.interest`)."""
    ranks = {row.player_id: row.rank for row in view.standings}
    last = len(ranks) + 1
    candidates = [
        Candidate(
            row.match_id,
            (ranks.get(row.a.player_id, last), ranks.get(row.b.player_id, last)),
            moves.get(row.match_id, 0),
            row.state in IN_PLAY,
            row.result.outcome.at if row.result is not None else None,
        )
        for row in rows
    ]
    key = (view.league.pk, view.league.created_at, view.is_present, staff, round_number)
    with _lock:
        match_ids = choose(candidates, _shown.get(key, ()), _now(), featured=steering(view.league.screen).featured)
        _shown[key] = match_ids
    return match_ids


def _now() -> datetime:
    return clock.now()
