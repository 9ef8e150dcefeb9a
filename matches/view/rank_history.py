"""Ranks and points of every player after each round, for charts and the arrows of tables. Pure, but for the names.

The table after a round has the points that corrections had given before the next round started, so a correction moves
players in the round in which it was made: in charts, arrows and stories alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from league_sdk.ledger.standings import Row, count, give_ranks, order
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
    numbers = _rounds(view)
    every = max(1, -(-len(numbers) // max_columns))
    rounds = numbers[::-1][::every][::-1]
    ranks: dict[str, list[int]] = {player_id: [] for player_id in view.names}
    points: dict[str, list[int]] = {player_id: [] for player_id in view.names}
    for rows in _tables(view, rounds):
        for row in rows:
            ranks[row.player_id].append(row.tied_rank)
            points[row.player_id].append(row.points)
    return RankHistory(rounds, ranks, points)


def places_gained(view: View) -> dict[str, int]:
    """Places that each player gained in the current round, by id; empty when that is not known."""
    numbers, current = _rounds(view), view.moment.current
    # While final places are being unveiled, the other rows move up without having gained a place.
    if current is None or len(numbers) < 2 or numbers[-1] < current.number or view.unveiled:
        return {}
    earlier = {row.player_id: row.tied_rank for rows in _tables(view, numbers[-2:-1]) for row in rows}
    return {row.player_id: earlier[row.player_id] - row.tied_rank for row in view.standings}


def _rounds(view: View) -> list[int]:
    """The rounds that have a table of their own: with a result that counts, or, the current one, with a correction."""
    moment, current = view.moment, view.moment.current
    numbers = sorted({result.round_number for result in moment.results if result.status != "CANCELLED"})
    if numbers and current is not None and numbers[-1] < current.number:
        is_corrected = corrected_points(moment, numbers[-1]) != corrected_points(moment, current.number)
        numbers += [current.number] if is_corrected else []
    return numbers


def _tables(view: View, rounds: Iterable[int]) -> Iterator[list[Row]]:
    """The table after each of these rounds, which ascend; each time the same rows, which change."""
    moment, results = view.moment, view.moment.results
    rows = {player_id: Row(player_id, name, out=moment.out.get(player_id)) for player_id, name in view.names.items()}
    counted = 0
    for number in rounds:
        upto = bisect_right(results, number, key=attrgetter("round_number"))
        for result in results[counted:upto]:
            count(rows, result, view.scoring)
        counted = upto
        corrected = corrected_points(moment, number)
        for player_id, row in rows.items():
            row.points += corrected.get(player_id, 0) - row.corrected
            row.corrected = corrected.get(player_id, 0)
        ranked = sorted(rows.values(), key=order)
        give_ranks(ranked)
        yield ranked
