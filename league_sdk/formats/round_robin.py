"""Round robin by the circle method (004 2.5.3, 3.5; ids of 004 table 9). Pure."""

from __future__ import annotations

from dataclasses import dataclass

from league_sdk.formats.format import Format, Lot, Size, numbered
from league_sdk.ledger.order import Order
from league_sdk.ledger.past import Past, Round


@dataclass(frozen=True, slots=True)
class Pairing:
    """One match: its id and the seats (indexes into the players) of PLAYER_A and PLAYER_B."""

    match_id: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """One round: its number from 1, its matches, and the seat that rests, if one does."""

    number: int
    pairings: tuple[Pairing, ...]
    bye: int | None


def rounds_of(players: int) -> int:
    """The number of rounds for this many players."""
    return players - 1 + players % 2


def matches_of(players: int) -> int:
    """The number of matches for this many players."""
    return players * (players - 1) // 2


def planned_round(players: int, number: int) -> PlannedRound:
    """One round of a schedule in which every pair meets once: n-1 rounds for even n, n with one bye each for odd n.

    The first seat stays, the others turn around it. PLAYER_A, who moves first where a game has turns, is the lower
    seat when the two are an odd number of seats apart, else the higher one: so everyone is PLAYER_A as often as
    everyone else, or once more (our choice). Four players are as in 004 table 9, where it is always the lower seat.

    Args:
        players: how many, at least 2.
        number: the number of the round, from 1 to :func:`rounds_of`.
    """
    turn, others = number - 1, rounds_of(players)
    empty = players if players % 2 else None
    pairs = [(0, 1 + turn)]
    for step in range(1, others // 2 + 1):
        left, right = 1 + (turn + step) % others, 1 + (turn - step) % others
        pairs.append((min(left, right), max(left, right)))
    bye = next((a for a, b in pairs if b == empty), None)
    played = [_roles(a, b, players) for a, b in pairs if b != empty]
    return PlannedRound(
        number=number,
        pairings=tuple(Pairing(f"R{number}M{place}", a, b) for place, (a, b) in enumerate(played, start=1)),
        bye=bye,
    )


def _roles(lower: int, higher: int, players: int) -> tuple[int, int]:
    """Two seats as PLAYER_A and PLAYER_B."""
    if players == 4 or (higher - lower) % 2:
        return lower, higher
    return higher, lower


class RoundRobin(Format):
    """Everybody meets everybody, once in each cycle. Who is out of the league keeps its games: others get the points.

    Args:
        cycles: how often; in every second cycle the roles are exchanged.
    """

    name = "round_robin"
    reveals = False

    def __init__(self, cycles: int = 1) -> None:
        self.cycles = cycles

    def size(self, past: Past) -> Size:
        """Rounds and matches of all cycles."""
        count = len(past.entrants)
        return Size(rounds_of(count) * self.cycles, matches_of(count) * self.cycles)

    def pair(self, past: Past, order: Order, lot: Lot) -> Round | None:
        """The next round of the circle."""
        return self._round(past, len(past.rounds) + 1)

    def preview(self, past: Past, order: Order, lot: Lot) -> list[Round]:
        """Every round to come."""
        last = rounds_of(len(past.entrants)) * self.cycles
        rounds = (self._round(past, number) for number in range(len(past.rounds) + 1, last + 1))
        return [one for one in rounds if one is not None]

    def _round(self, past: Past, number: int) -> Round | None:
        count = len(past.entrants)
        cycle, turn = divmod(number - 1, rounds_of(count))
        if cycle >= self.cycles:
            return None
        plan = planned_round(count, turn + 1)
        seats = [(one.a, one.b) if cycle % 2 == 0 else (one.b, one.a) for one in plan.pairings]
        games = [(past.ids[a], past.ids[b]) for a, b in seats]
        return numbered(past.first + number - 1, games, [past.ids[plan.bye]] if plan.bye is not None else [])
