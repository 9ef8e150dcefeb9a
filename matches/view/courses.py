"""How a league's table came to be: places and points after each round. Pure but for what the view reads of names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from league_sdk.ledger.standings import Result, Row, count, order
from matches.view.sight import View

MOST_ROUNDS = 60
"""Columns that a chart has room for."""


class Courses(NamedTuple):
    """One column for each round that has a result in a view; a round that is on counts as far as it has come.

    Attributes:
        rounds: the numbers of the rounds, ascending.
        ranks: places by player, one per round.
        points: points by player, one per round.
    """

    rounds: list[int]
    ranks: dict[str, list[int]]
    points: dict[str, list[int]]


def courses(view: View) -> Courses:
    """Places and points of every player, round by round, as its results count in this view.

    Of more than :data:`MOST_ROUNDS` rounds only every second, third, … has a column, and always the last.
    """
    names, results, rules = view.names, view.moment.results, view.scoring
    played: dict[int, list[Result]] = defaultdict(list)
    for result in results:
        if result.status != "CANCELLED":
            played[result.round_number].append(result)
    numbers = sorted(played)
    every = -(-len(numbers) // MOST_ROUNDS)
    rounds = []
    ranks: dict[str, list[int]] = {player_id: [] for player_id in names}
    points: dict[str, list[int]] = {player_id: [] for player_id in names}
    rows = {player_id: Row(player_id, name, out=view.moment.out.get(player_id)) for player_id, name in names.items()}
    for left, number in zip(reversed(range(len(numbers))), numbers, strict=True):
        for result in played[number]:
            count(rows, result, rules)
        if left % every:
            continue
        rounds.append(number)
        given = _given(view, number) if left else view.moment.points
        _award(rows, given)
        for rank, row in enumerate(sorted(rows.values(), key=order), start=1):
            ranks[row.player_id].append(rank)
            points[row.player_id].append(row.points)
    return Courses(rounds, ranks, points)


def _award(rows: dict[str, Row], given: Mapping[str, int]) -> None:
    """Points that corrections gave or took, in the place of those that they had given earlier."""
    for player_id, row in rows.items():
        row.points += given.get(player_id, 0) - row.given
        row.given = given.get(player_id, 0)


def _given(view: View, number: int) -> dict[str, int]:
    """What corrections had given or taken before the round after ``number`` began."""
    later = [then.started_at for one, then in view.moment.rounds.items() if one > number]
    given: Counter[str] = Counter()
    for correction in view.moment.corrections.values():
        if not correction["undone"] and (not later or correction["at"] < min(later)):
            given.update({player_id: int(points) for player_id, points in correction.get("points", {}).items()})
    return dict(given)
