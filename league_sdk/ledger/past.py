"""What has happened in a stage of a league: who entered it, and its rounds. Pure; from the ledger alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from league_sdk.ledger.standings import DISQUALIFIED, Result, Row, Scoring, table

PLAYED = ("WIN", "DRAW")
"""The statuses of a match that was played to its end."""
USUAL_SCORING = Scoring()


class Entrant(NamedTuple):
    """A player of a stage.

    Attributes:
        seed: its place in the order in which players are seeded, from 1.
        since: the first round of the stage that it may be paired in, from 1.
        out: ``withdrawn`` or ``disqualified``, if it is out of the league by now.
        out_after: how many rounds of the stage had been announced when it left.
    """

    player_id: str
    seed: int
    since: int = 1
    out: str | None = None
    out_after: int = 0


class Game(NamedTuple):
    """One match of a pairing: a pairing has one, or several, of which each round has one.

    Attributes:
        a, b: PLAYER_A and PLAYER_B.
        number: which game of its pairing, from 1.
        pairing_id: the ``match_id`` of the pairing's first game.
        status: as in a result report; empty while it has no result.
        winner: the winner of a WIN or TECHNICAL_LOSS, if there is one.
    """

    match_id: str
    a: str
    b: str
    number: int = 1
    pairing_id: str = ""
    status: str = ""
    winner: str | None = None

    @property
    def players(self) -> frozenset[str]:
        """Both, in no order."""
        return frozenset((self.a, self.b))

    def other(self, player_id: str) -> str:
        """The opponent of one of the two."""
        return self.b if player_id == self.a else self.a


class Round(NamedTuple):
    """A round that was announced.

    Attributes:
        number: its number in the league, from 1.
        byes: who rests in it.
    """

    number: int
    games: tuple[Game, ...]
    byes: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether every game has a result."""
        return all(game.status for game in self.games)


@dataclass(frozen=True)
class Past:
    """What has happened in a stage.

    Attributes:
        entrants: in the order of their ids, digits as numbers.
        rounds: those announced so far, in order.
        points: points that corrections gave or took, by player.
        bye_points: the points for a round of rest.
        first: the number of the stage's first round in the league.
    """

    entrants: tuple[Entrant, ...]
    rounds: tuple[Round, ...] = ()
    scoring: Scoring = USUAL_SCORING
    points: Mapping[str, int] | None = None
    bye_points: int = 0
    first: int = 1

    @property
    def next_number(self) -> int:
        """The number, in the league, of the round after those that were announced."""
        return self.first + len(self.rounds)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The entrants' ids."""
        return tuple(entrant.player_id for entrant in self.entrants)

    @cached_property
    def out(self) -> dict[str, str]:
        """Who is out of the league, and with which word."""
        return {entrant.player_id: entrant.out for entrant in self.entrants if entrant.out}

    def left_by(self, rounds: int) -> frozenset[str]:
        """Who had left the league when the stage had so many rounds."""
        return frozenset(one.player_id for one in self.entrants if one.out and one.out_after <= rounds)

    @cached_property
    def disqualified(self) -> frozenset[str]:
        """Who was taken out of the table."""
        return frozenset(player for player, word in self.out.items() if word == DISQUALIFIED)

    @cached_property
    def seeds(self) -> tuple[str, ...]:
        """The entrants' ids, the best seed first."""
        return tuple(one.player_id for one in sorted(self.entrants, key=lambda one: one.seed))

    @cached_property
    def rows(self) -> dict[str, Row]:
        """What everyone has won, drawn, lost, by player."""
        results = (Result(one.number, game.a, game.b, game.status, game.winner) for one, game in self.each_game())
        names = {player_id: player_id for player_id in self.ids}
        rows = table(names, results, self.scoring, points=self.points, out=self.out)
        for row in rows:
            row.points += self.byes_of.get(row.player_id, 0) * self.bye_points
        return {row.player_id: row for row in rows}

    @cached_property
    def games_of(self) -> dict[str, list[Game]]:
        """The games of each entrant, in order, also those without a result."""
        found = defaultdict[str, list[Game]](list)
        for _, game in self.each_game():
            found[game.a].append(game)
            found[game.b].append(game)
        return found

    @cached_property
    def byes_of(self) -> dict[str, int]:
        """How many rounds each entrant rested, by player."""
        found = defaultdict[str, int](int)
        for one in self.rounds:
            for player_id in one.byes:
                found[player_id] += 1
        return found

    def each_game(self) -> Iterable[tuple[Round, Game]]:
        """Every game with its round, in order."""
        return ((one, game) for one in self.rounds for game in one.games)

    def before(self, rounds: int) -> Past:
        """The same with so many rounds only, as it was when the next one was paired."""
        return replace(self, rounds=self.rounds[:rounds])

    def among(self, players: Iterable[str]) -> Past:
        """The same with these entrants only, and the games between them."""
        kept = frozenset(players)
        rounds = (
            Round(
                one.number,
                tuple(game for game in one.games if game.players <= kept),
                tuple(player_id for player_id in one.byes if player_id in kept),
            )
            for one in self.rounds
        )
        return replace(
            self, entrants=tuple(one for one in self.entrants if one.player_id in kept), rounds=tuple(rounds)
        )
