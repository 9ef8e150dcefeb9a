"""The table: results and scoring in, ranked rows out (ruling, section 7). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

_DIGITS = re.compile(r"(\d+)")
FORM_LENGTH = 5
WITHDRAWN, DISQUALIFIED = "withdrawn", "disqualified"


class Result(NamedTuple):
    """One finished match, in the order in which matches finished."""

    round_number: int
    player_a: str
    player_b: str
    status: str
    winner: str | None


class Scoring(NamedTuple):
    """Points of a league."""

    win: int = 3
    draw: int = 1
    loss: int = 0
    technical_loss: int = 0


@dataclass(slots=True)
class Row:
    """One player's line. ``losses`` includes ``technical_losses``; ``form`` is newest last."""

    player_id: str
    display_name: str
    rank: int = 0
    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0
    points: int = 0
    form: list[str] = field(default_factory=list)
    given: int = 0
    """Points in ``points`` that a correction gave or took."""
    out: str | None = None
    """``withdrawn`` or ``disqualified``, when the player is out of the league."""

    def take(self, letter: str, points: int) -> None:
        """Count one match with outcome W, D, L or T."""
        self.played += 1
        self.points += points
        self.wins += letter == "W"
        self.draws += letter == "D"
        self.losses += letter in "LT"
        self.technical_losses += letter == "T"
        self.form.append(letter)


@lru_cache(maxsize=4096)
def natural(player_id: str) -> list[tuple[int, int, str]]:
    """A sort key in which digits count as numbers: P2 before P10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(player_id) if part]


def order(row: Row) -> tuple[Any, ...]:
    """Where a row comes in the table: the least is the first."""
    return (row.out == DISQUALIFIED, -row.points, -row.wins, -row.draws, natural(row.player_id))


def count(rows: Mapping[str, Row], result: Result, scoring: Scoring) -> None:
    """Count one match in the rows of its players; who has no row is left out."""
    for player_id in (result.player_a, result.player_b):
        row = rows.get(player_id)
        if row is None:
            continue
        if result.status == "DRAW":
            row.take("D", scoring.draw)
        elif result.status == "WIN":
            won = result.winner == player_id
            row.take("W" if won else "L", scoring.win if won else scoring.loss)
        elif result.status == "TECHNICAL_LOSS":
            if result.winner is None:
                row.take("T", 0)
            elif result.winner == player_id:
                row.take("W", scoring.win)
            else:
                row.take("T", scoring.technical_loss)


def table(
    players: Mapping[str, str],
    results: Iterable[Result],
    scoring: Scoring,
    *,
    points: Mapping[str, int] | None = None,
    out: Mapping[str, str] | None = None,
) -> list[Row]:
    """Fold results into ranked rows.

    Order: points, wins, draws (all descending), then player_id with digits as numbers. Every rank is
    given once. CANCELLED counts nowhere; a TECHNICAL_LOSS without a winner is both absent: a match
    played and lost for each, no points.

    Args:
        players: display names by player_id; everyone has a row.
        results: finished matches; players who are not listed are left out.
        scoring: the league's points.
        points: what corrections gave or took, by player.
        out: players that were withdrawn or disqualified; the disqualified come last.
    """
    rows = {
        player_id: Row(player_id, name, out=(out or {}).get(player_id), given=(points or {}).get(player_id, 0))
        for player_id, name in players.items()
    }
    for result in results:
        count(rows, result, scoring)
    for row in rows.values():
        row.points += row.given
    ranked = sorted(rows.values(), key=order)
    for rank, row in enumerate(ranked, start=1):
        row.rank = rank
        row.form = row.form[-FORM_LENGTH:]
    return ranked
