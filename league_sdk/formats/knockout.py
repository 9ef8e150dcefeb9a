"""Knockout: who loses a pairing is out. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

from league_sdk.formats.format import Format, Lot, Size, numbered
from league_sdk.ledger.order import Order
from league_sdk.ledger.past import Game, Past, Round


def bracket(count: int) -> list[int]:
    """The seeds, from 1, from top to bottom of a bracket for ``count`` players, a power of two.

    The best two meet in the final at the earliest, the best four in the semi-finals: for 8 it is 1 8 4 5 2 7 3 6.
    """
    seeds = [1]
    while len(seeds) < count:
        total = 2 * len(seeds) + 1
        seeds = [seed for best in seeds for seed in (best, total - best)]
    return seeds


@dataclass(slots=True)
class Contest:
    """Two players of whom one goes on.

    Attributes:
        better, worse: the better and the worse seed; None for a place that nobody has reached.
        games: those announced so far.
        winner: who goes on; None as long as that is open, and if neither of the two does.
        decided: whether that is certain.
    """

    better: str | None
    worse: str | None
    games: list[Game] = field(default_factory=list)
    winner: str | None = None
    decided: bool = False

    @property
    def loser(self) -> str | None:
        """Who does not go on, if the other one does."""
        if not self.decided or self.winner is None:
            return None
        return self.worse if self.winner == self.better else self.better

    def settle(self, most: int, out: frozenset[str]) -> None:
        """Decide it, if that is possible by now.

        Args:
            most: how many games it has at most.
            out: players who are out of the league.
        """
        two = [one for one in (self.better, self.worse) if one is not None]
        wins = [sum(game.winner == one for game in self.games) for one in two]
        left = most - sum(bool(game.status) for game in self.games)
        there = [one for one in two if one not in out]
        if len(two) == 2 and abs(wins[0] - wins[1]) > left:
            # Who leaves after the last game has won it all the same.
            self.decided, self.winner = True, two[wins[1] > wins[0]]
        elif len(there) < 2:
            self.decided, self.winner = True, there[0] if there else None
        elif left <= 0:
            # Level. If neither has played, both were absent in every game, and nobody goes on.
            played = any(wins) or any(game.status == "DRAW" for game in self.games)
            self.decided, self.winner = True, self.better if played else None


@dataclass(slots=True)
class Level:
    """The contests of one level, from top to bottom, and beside the final that for the third place.

    Attributes:
        rounds: how many rounds of the past belong to it.
    """

    contests: list[Contest]
    third: Contest | None = None
    rounds: int = 0

    @property
    def every(self) -> list[Contest]:
        """All of them, those that nobody has to play, too."""
        return [*self.contests, *([self.third] if self.third is not None else [])]

    @property
    def decided(self) -> bool:
        """Whether all of them are."""
        return all(contest.decided for contest in self.every)


class Knockout(Format):
    """A fixed bracket by seeds; the best seeds rest where there are fewer players than places.

    A pairing has ``games`` games with the roles exchanged in every second one; it ends as soon as nobody can catch up.
    If it is level then, the better seed goes on. If neither has played a game, neither does.

    Args:
        games: how many games a pairing has at most.
        third_place: whether those who lose the semi-finals play for the third place.
    """

    name = "knockout"

    def __init__(self, games: int = 1, *, third_place: bool = False) -> None:
        self.games, self.third_place = games, third_place

    def levels(self, past: Past) -> list[Level]:
        """The bracket as far as it is known: the last level is the one that is played, or the final."""
        size = 1 << max(0, len(past.entrants) - 1).bit_length()
        alive: list[str | None] = [past.seeds[seed - 1] if seed <= len(past.seeds) else None for seed in bracket(size)]
        rank = {player_id: seed for seed, player_id in enumerate(past.seeds)}
        found: list[Level] = []
        while len(alive) > 1:
            level = Level([_contest(one, other, rank) for one, other in zip(alive[::2], alive[1::2], strict=True)])
            if len(alive) == 2 and self.third_place and found:
                one, other = (contest.loser for contest in found[-1].contests)
                level.third = _contest(one, other, rank)
            self._replay(level, past, sum(before.rounds for before in found))
            found.append(level)
            if not level.decided:
                break
            alive = [contest.winner for contest in level.contests]
        return found

    def _replay(self, level: Level, past: Past, place: int) -> None:
        """Let a level take its rounds of the past, from ``place`` on."""
        by_players = {frozenset((one.better, one.worse)): one for one in level.every}
        while True:
            for contest in level.every:
                if not contest.decided:
                    contest.settle(self.games, past.left_by(place))
            if level.decided or place == len(past.rounds):
                return
            for game in past.rounds[place].games:
                if game.players in by_players:
                    by_players[game.players].games.append(game)
            place, level.rounds = place + 1, level.rounds + 1

    def size(self, past: Past) -> Size:
        """Rounds and matches if every pairing has all its games."""
        count = len(past.entrants)
        levels = max(0, count - 1).bit_length()
        third = self.third_place and count > 3
        return Size(levels * self.games, (max(0, count - 1) + third) * self.games)

    def pair(self, past: Past, order: Order, lot: Lot) -> Round | None:
        """The next game of every contest that is open."""
        levels = self.levels(past)
        if not levels:
            return None
        level = levels[-1]
        games: list[tuple[str, str] | Game] = []
        for contest in level.every:
            if contest.decided or contest.better is None or contest.worse is None:
                continue
            if contest.games:
                last = contest.games[-1]
                games.append(Game("", last.b, last.a, last.number + 1, last.pairing_id))
            else:
                pair = (contest.better, contest.worse)
                games.append(pair if lot.draw(past.next_number, *pair) % 2 else pair[::-1])
        playing = {player_id for game in games for player_id in (game.players if isinstance(game, Game) else game)}
        waiting = [contest.winner for contest in level.contests if contest.decided]
        byes = [player_id for player_id in waiting if player_id is not None and player_id not in playing]
        return numbered(past.next_number, games, byes) if games else None

    def places(self, past: Past, order: Order) -> list[list[str]]:
        """Those who are still in share the first place; then by how far everybody came; disqualified players last."""
        levels = self.levels(past)
        reached = dict.fromkeys(past.seeds, 2 * len(levels))
        for number, level in enumerate(levels):
            reached |= dict.fromkeys(_beaten(level.contests), 2 * number)
            if level.third is not None and level.third.winner is not None:
                reached[level.third.winner] += 1
        reached |= dict.fromkeys(past.disqualified, -1)
        ordered = sorted(past.seeds, key=lambda player_id: -reached[player_id])
        return [list(group) for _, group in groupby(ordered, lambda player_id: reached[player_id])]

    def invalidated(self, past: Past, order: Order, lot: Lot) -> list[str]:
        """Every pairing whose two players would not have met."""
        expected = {
            frozenset((contest.better, contest.worse)) for level in self.levels(past) for contest in level.every
        }
        fallen = [game.pairing_id for _, game in past.each_game() if game.players not in expected]
        return list(dict.fromkeys(fallen))


def _contest(one: str | None, other: str | None, rank: dict[str, int]) -> Contest:
    better, worse = sorted(
        (one, other), key=lambda player_id: rank[player_id] if player_id is not None else len(rank) + 1
    )
    return Contest(better, worse)


def _beaten(contests: list[Contest]) -> list[str]:
    """Those who do not go on: the losers, and both of a contest in which neither has played."""
    found = []
    for contest in contests:
        if contest.decided:
            found += [one for one in (contest.better, contest.worse) if one is not None and one != contest.winner]
    return found
