"""A league of several stages: who goes on, and what is played next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from league_sdk.formats.format import Lot, Next, Over, Pair, Size, Wait
from league_sdk.formats.registry import Stage
from league_sdk.ledger.order import Order
from league_sdk.ledger.past import Entrant, Past
from league_sdk.ledger.standings import natural


@dataclass(frozen=True, slots=True)
class Begin:
    """A stage begins.

    Attributes:
        past: its entrants and no round yet; its first round comes from it.
    """

    past: Past


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a league.

    Args:
        each: one after the other.
        order: the order of the table.
        secret: of the league's lots.
    """

    each: Sequence[Stage]
    order: Order
    secret: bytes

    def lot(self, number: int) -> Lot:
        """The lot of a stage, whose number counts from 1."""
        return Lot(self.secret, number)

    def next(self, begun: Sequence[Past]) -> Next | Begin:
        """What is played next.

        Args:
            begun: the stages that have begun, the first one at least.
        """
        for number, past in enumerate(begun, start=1):
            found = self.each[number - 1].format.next(past, self.order, self.lot(number))
            # A match of an earlier stage may be played again, which decides who goes on.
            if isinstance(found, Wait) or (isinstance(found, Pair) and number == len(begun)):
                return found
        if len(begun) == len(self.each):
            return Over()
        return Begin(self._entered(begun))

    def _entered(self, begun: Sequence[Past]) -> Past:
        """The stage after those that are over: the best of the last one, seeded by their places there."""
        number, past = len(begun) + 1, begun[-1]
        top = self.each[number - 1].top
        places = self.each[number - 2].format.places(past, self.order)
        staying = [[one for one in group if one not in past.out] for group in places]
        ranked = [one for group in staying for one in self.lot(number).shuffled(group, "seed")]
        seeded = sorted(enumerate(ranked[:top], start=1), key=lambda one: natural(one[1]))
        entrants = tuple(Entrant(player_id, seed) for seed, player_id in seeded)
        return Past(entrants, scoring=past.scoring, first=past.next_number)

    def size(self, begun: Sequence[Past]) -> Size:
        """The rounds and matches of all stages at most, also of those to come; None if that is not known."""
        rounds = matches = 0
        count = len(begun[-1].entrants)
        for number, stage in enumerate(self.each):
            if number >= len(begun):
                count = min(count, stage.top or count)
            past = begun[number] if number < len(begun) else Past(tuple(Entrant(str(one), one) for one in range(count)))
            one = stage.format.size(past)
            if one.rounds is None or one.matches is None:
                return Size(None, None)
            rounds, matches = rounds + one.rounds, matches + one.matches
        return Size(rounds, matches)
