"""What a format is: a function from what has happened to what is played next. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from league_sdk.ledger.order import Order
from league_sdk.ledger.past import Game, Past, Round


@dataclass(frozen=True, slots=True)
class Pair:
    """A round is played next."""

    round: Round


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be paired yet.

    Attributes:
        round_number: the round that has games without a result.
    """

    round_number: int


@dataclass(frozen=True, slots=True)
class Over:
    """The stage has ended."""


Next = Pair | Wait | Over


@dataclass(frozen=True, slots=True)
class Size:
    """How long a stage is; None where that depends on results.

    Attributes:
        rounds, matches: at most, including those that were played.
    """

    rounds: int | None
    matches: int | None


class Lot:
    """Chance that nobody can foresee and everybody can check afterwards.

    Args:
        secret: 32 bytes, committed to before registration closes.
        stage: the number of the stage in its league, from 1.
    """

    def __init__(self, secret: bytes, stage: int) -> None:
        self._secret, self._stage = secret, stage

    def draw(self, *words: object) -> int:
        """A number from 0 to 2**64 - 1 for these words, such as a round and a player."""
        text = "|".join(map(str, (self._stage, *words)))
        return int.from_bytes(hmac.digest(self._secret, text.encode(), hashlib.sha256)[:8], "big")

    def shuffled(self, players: Sequence[str], *words: object) -> list[str]:
        """The players in an order that chance has given them, whatever order they came in."""
        return sorted(sorted(players), key=lambda player_id: self.draw(*words, player_id))


class Format:
    """A format.

    A round has at most one game for each player. The rounds so far are never computed again: another version may have
    paired them differently.

    Attributes:
        name: as it stands in a league's settings and in its ledger.
        reveals: whether its pairings tell results that a frozen board hides.
        takes_late: whether players may enter after its first round.
        needs: the extra that must be installed for it, such as ``swiss``; empty if none.
    """

    name: ClassVar[str]
    reveals: ClassVar[bool] = True
    takes_late: ClassVar[bool] = False
    needs: ClassVar[str] = ""

    def size(self, past: Past) -> Size:
        """How many rounds and matches the stage has, if nobody leaves."""
        raise NotImplementedError

    def next(self, past: Past, order: Order, lot: Lot) -> Next:
        """What is played next.

        Args:
            order: the order of the table.
            lot: decides what nothing else decides.
        """
        if past.rounds and not past.rounds[-1].is_over:
            return Wait(past.rounds[-1].number)
        reopened = next((one.number for one in past.rounds if not one.is_over), None)
        if reopened is not None and self.reveals:
            return Wait(reopened)
        found = self.pair(past, order, lot)
        return Over() if found is None else Pair(found)

    def pair(self, past: Past, order: Order, lot: Lot) -> Round | None:
        """The next round, after rounds that are over; None at the end."""
        raise NotImplementedError

    def preview(self, past: Past, order: Order, lot: Lot) -> list[Round]:
        """The rounds to come, as far as they are certain whatever the results will be."""
        return []

    def places(self, past: Past, order: Order) -> list[list[str]]:
        """Who stands where, the best first; those who share a place are one group."""
        return order.groups(past)

    def invalidated(self, past: Past, order: Order, lot: Lot) -> list[str]:
        """The pairings that would not have been made with these results: what a correction of an earlier one undoes.

        Returns their ``pairing_id``.
        """
        return []


def numbered(number: int, games: Sequence[tuple[str, str] | Game], byes: Sequence[str] = ()) -> Round:
    """A round with the ids of its matches: ``R3M1``, ``R3M2`` and so on.

    Args:
        number: its number in the league, from 1.
        games: PLAYER_A and PLAYER_B of the first game of a pairing, or a further game without its id.
        byes: who rests.
    """
    made = []
    for place, game in enumerate(games, start=1):
        match_id = f"R{number}M{place}"
        if isinstance(game, Game):
            made.append(game._replace(match_id=match_id))
        else:
            made.append(Game(match_id, *game, pairing_id=match_id))
    return Round(number, tuple(made), tuple(byes))
