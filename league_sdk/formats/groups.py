"""Groups, in each of which everybody meets everybody. Pure."""

from __future__ import annotations

from itertools import zip_longest

from league_sdk.formats.format import Format, Lot, Size, numbered
from league_sdk.formats.round_robin import matches_of, planned_round, rounds_of
from league_sdk.ledger.order import Order
from league_sdk.ledger.past import Past, Round


class Groups(Format):
    """Groups that play beside each other. Seeds are dealt like a snake: 1 2 3 4, then 8 7 6 5, then 9 10 11 12.

    Args:
        groups: how many; fewer if there are not two players for each.
    """

    name = "groups"
    reveals = False

    def __init__(self, groups: int = 4) -> None:
        self.groups = groups

    def members(self, past: Past) -> list[list[str]]:
        """The players of each group, the best seed first."""
        count = max(1, min(self.groups, len(past.entrants) // 2))
        dealt: list[list[str]] = [[] for _ in range(count)]
        for place, player_id in enumerate(past.seeds):
            row, column = divmod(place, count)
            dealt[column if row % 2 == 0 else count - 1 - column].append(player_id)
        return dealt

    def size(self, past: Past) -> Size:
        """The rounds of the largest group, the matches of all."""
        counts = [len(group) for group in self.members(past)]
        return Size(max(map(rounds_of, counts)), sum(map(matches_of, counts)))

    def pair(self, past: Past, order: Order, lot: Lot) -> Round | None:
        """The next round of every group that has one; in the others everybody rests."""
        return self._round(past, len(past.rounds) + 1)

    def preview(self, past: Past, order: Order, lot: Lot) -> list[Round]:
        """Every round to come."""
        last = self.size(past).rounds or 0
        rounds = (self._round(past, number) for number in range(len(past.rounds) + 1, last + 1))
        return [one for one in rounds if one is not None]

    def _round(self, past: Past, number: int) -> Round | None:
        games, byes = [], []
        for group in self.members(past):
            if number > rounds_of(len(group)):
                byes += group
                continue
            plan = planned_round(len(group), number)
            games += [(group[one.a], group[one.b]) for one in plan.pairings]
            byes += [group[plan.bye]] if plan.bye is not None else []
        return numbered(past.first + number - 1, games, byes) if games else None

    def tables(self, past: Past, order: Order) -> list[list[list[str]]]:
        """Who stands where in each group, as :meth:`places` has it for all."""
        return [order.groups(past.among(group)) for group in self.members(past)]

    def places(self, past: Past, order: Order) -> list[list[str]]:
        """The winners of groups, ordered among themselves, then those on second places, and so on."""
        ranked = [[player_id for tied in table for player_id in tied] for table in self.tables(past, order)]
        levels = ([player_id for player_id in level if player_id is not None] for level in zip_longest(*ranked))
        return [tied for level in levels for tied in order.groups(past, level)]
