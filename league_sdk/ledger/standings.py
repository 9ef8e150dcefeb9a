"""The table: computes ranked rows from results and scoring (ruling, section 7). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

_DIGITS = re.compile(r"(\d+)")
FORM_LENGTH = 5
WITHDRAWN, DISQUALIFIED = "withdrawn", "disqualified"


class Result(NamedTuple):
    """A finished match."""

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
    """One player's line. ``losses`` includes ``technical_losses``; ``form`` is newest last.

    ``rank`` is the position in the table. ``tied_rank`` is the place that all those share whom only the player_id tells
    apart, ``tied`` says whether somebody shares it.
    """

    player_id: str
    display_name: str
    rank: int = 0
    tied_rank: int = 0
    tied: bool = False
    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0
    points: int = 0
    form: list[str] = field(default_factory=list)
    corrected: int = 0
    """The part of ``points`` that corrections added (or, if negative, took away)."""
    out: str | None = None
    """``withdrawn`` or ``disqualified``, when the player is out of the league."""

    @property
    def place(self) -> str:
        """The place as people read it: "2", or "=2" if it is shared."""
        return f"={self.tied_rank}" if self.tied else str(self.tied_rank)

    @property
    def leads(self) -> bool:
        """Whether it is first and has points: nobody leads a table of zeros."""
        return self.tied_rank == 1 and self.points > 0

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


def merit(row: Row) -> tuple[Any, ...]:
    """The part of the order that a player has earned; players with the same one are tied."""
    return (row.out == DISQUALIFIED, -row.points, -row.wins, -row.draws)


def order(row: Row) -> tuple[Any, ...]:
    """The sort key of a row in the table; the smallest key is first."""
    return (*merit(row), natural(row.player_id))


def give_ranks(rows: Sequence[Row]) -> None:
    """Set the ranks of rows that stand in their order."""
    rank = 1
    for _, group in groupby(rows, merit):
        tied = list(group)
        for position, row in enumerate(tied, start=rank):
            row.rank, row.tied_rank, row.tied = position, rank, len(tied) > 1
        rank += len(tied)


def decided(rows: Iterable[Row]) -> bool:
    """Whether any match that counts was won or drawn; if none was, nobody has earned a place."""
    return any(row.wins or row.draws for row in rows)


def champions(rows: Sequence[Row]) -> list[Row]:
    """Everyone who has won a league with this final table: ``tied_rank`` 1 (ruling, section 14).

    Nobody if no match was :func:`decided`, whatever points corrections gave; never somebody who is disqualified.
    """
    return [row for row in rows if row.tied_rank == 1 and row.out != DISQUALIFIED] if decided(rows) else []


def for_people(rows: Iterable[Row]) -> list[Row]:
    """The rows of a table as pages list them: among those who are tied, technical losers come last."""
    shown: list[Row] = []
    for _, tied in groupby(rows, lambda row: row.tied_rank):
        shown += sorted(tied, key=lambda row: row.technical_losses)
    return shown


def count(rows: Mapping[str, Row], result: Result, scoring: Scoring) -> None:
    """Count a match in the rows of its players; players without a row are ignored."""
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

    Order: points, wins, draws (all descending), then player_id with digits as numbers. No two rows share a rank; those
    whom only the id tells apart share a ``tied_rank``. CANCELLED counts nowhere. A TECHNICAL_LOSS without a winner
    means that both were absent: it is a match played and lost for each, without points.

    Args:
        players: display names by player_id; everyone has a row.
        results: finished matches in the order in which they finished; unknown players are ignored.
        scoring: the league's points.
        points: points that corrections added (or, if negative, took away), by player.
        out: ``withdrawn`` or ``disqualified``, by player; disqualified players come last.
    """
    rows = {
        player_id: Row(player_id, name, out=(out or {}).get(player_id), corrected=(points or {}).get(player_id, 0))
        for player_id, name in players.items()
    }
    for result in results:
        count(rows, result, scoring)
    for row in rows.values():
        row.points += row.corrected
    ranked = sorted(rows.values(), key=order)
    give_ranks(ranked)
    for row in ranked:
        row.form = row.form[-FORM_LENGTH:]
    return ranked
