"""The drawing of a match as one audience may see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from league_sdk.protocol.states import MatchState
from matches.audience.pages.parts import MatchRow, Player
from matches.view.drawings import Drawing, Seat, drawing_of
from matches.view.sight import View

COMMITMENT_CHARS = 8
"""How much of the digest of the number's seed is shown under the number; the match's page has all of it."""


def with_drawing(row: MatchRow, view: View, facts: Mapping[str, Any]) -> MatchRow:
    """A row with its drawing.

    Args:
        row: made for the same view.
        view: what the audience may see.
        facts: what the referee told the public of the running game; not used after the end, or where the view does
            not show the present.
    """
    return replace(row, drawing=_drawing(row, view, facts))


def _drawing(row: MatchRow, view: View, facts: Mapping[str, Any]) -> Drawing:
    outcome = row.result.outcome if row.result is not None else None
    if outcome is not None:
        shown: Mapping[str, Any] = outcome.details
    else:
        shown = facts if view.is_present and row.state == MatchState.COLLECTING_CHOICES else {}
    committed = view.moment.commitments.get(row.match_id) or ("",)
    winner = outcome.winner if outcome is not None else None
    return drawing_of(
        view.league.game_type,
        shown,
        (_seat(row.a, winner), _seat(row.b, winner)),
        over=outcome is not None,
        commitment=committed[-1][:COMMITMENT_CHARS],
        board=row.board,
    )


def _seat(player: Player, winner: str | None) -> Seat:
    return Seat(player.player_id, player.joined, player.locked_in, won=player.player_id == winner)
