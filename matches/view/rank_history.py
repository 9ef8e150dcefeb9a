"""Ranks and points of every player after each round, for charts. Pure, except that the view reads names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from league_sdk.ledger.standings import Result, Row, count, give_ranks, order
from matches.view.sight import View
from matches.view.stories import corrected_points

MAX_COLUMNS = 60
"""How many rounds a chart has room for."""


class RankHistory(NamedTuple):
    """The ranks and points after each round that has a result that counts; a running round has its results so far.

    Attributes:
        rounds: the numbers of the rounds, ascending.
        ranks: for each player, its place after each of these rounds; tied players share a place.
        points: for each player, the points after each of these rounds.
    """

    rounds: list[int]
    ranks: dict[str, list[int]]
    points: dict[str, list[int]]


def rank_history(view: View, max_columns: int = MAX_COLUMNS) -> RankHistory:
    """The rank and points of every player after each round of this view.

    If there are more than ``max_columns`` rounds, only every second (third, ...) round and the last one are included.
    """
    names, results, rules = view.names, view.moment.results, view.scoring
    played: dict[int, list[Result]] = defaultdict(list)
    for result in results:
        if result.status != "CANCELLED":
            played[result.round_number].append(result)
    numbers = sorted(played)
    every = -(-len(numbers) // max_columns)
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
        _set_corrected_points(rows, corrected_points(view.moment, number) if left else view.moment.corrected_points)
        ranked = sorted(rows.values(), key=order)
        give_ranks(ranked)
        for row in ranked:
            ranks[row.player_id].append(row.tied_rank)
            points[row.player_id].append(row.points)
    return RankHistory(rounds, ranks, points)


def _set_corrected_points(rows: dict[str, Row], corrected: Mapping[str, int]) -> None:
    """Put ``corrected`` into the rows, in place of the points from corrections that were there for an earlier round."""
    for player_id, row in rows.items():
        row.points += corrected.get(player_id, 0) - row.corrected
        row.corrected = corrected.get(player_id, 0)
