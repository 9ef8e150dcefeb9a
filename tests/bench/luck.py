"""The figures of docs/luck.md: how often a league that is played again agrees with the prediction.

A league of players whose strengths are known is played, its luck is computed from the results, and the same players
play it again. The figure is how often a player's new place is within the predicted interval; nine of ten should be.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp
from typing import NamedTuple

from league_sdk.formats.round_robin import planned_round, rounds_of
from league_sdk.ledger.luck.again import play_again
from league_sdk.ledger.luck.figures import Luck, Question
from league_sdk.ledger.standings import Result, Scoring, table
from league_sdk.rules.even_odd import CHOICES
from league_sdk.rules.game import Chances
from league_sdk.rules.registry import get_game
from tests.bench.part import command_line, within

SCORING = Scoring()
MIN_COVERED = 0.87
"""The aim: in every scenario at least this share of the places is within their intervals."""

Match = tuple[str | None, Chances | None]
"""The winner's seat, ``a`` or ``b``, or None for a draw; and the chances if they are known."""
Play = Callable[[random.Random, int, int], Match]


@dataclass(frozen=True)
class Scenario:
    """A kind of league.

    Attributes:
        name: the name in the table.
        players: the number of players.
        make: draws the players of one league and returns how a match of theirs is played.
        rounds: the number of rounds after which luck is computed; 0 for all.
        lost: the share of matches that end with a technical loss; they are the same matches in both leagues.
    """

    name: str
    players: int
    make: Callable[[random.Random, int], Play]
    rounds: int = 0
    lost: float = 0.0


@dataclass
class Figures:
    """The figures of one scenario.

    Attributes:
        inside: how many new places are within their intervals.
        champion_best_said: the sum, over the leagues, of the computed probability that the champion is the best player.
        champion_best_true: in how many leagues the champion is the best player.
    """

    inside: int = 0
    intervals: int = 0
    widths: list[int] = field(default_factory=list)
    tables_could_be_chance: int = 0
    leagues: int = 0
    champion_best_said: float = 0.0
    champion_best_true: int = 0
    cpu_s: list[float] = field(default_factory=list)

    @property
    def covered(self) -> float:
        return self.inside / self.intervals


# How matches are played -------------------------------------------------------------------------


class Davidson(NamedTuple):
    """Matches by the model that the computation of luck assumes: Davidson's, of strengths and draws."""

    strengths: list[float]
    nu: float
    first: float = 0.0

    def __call__(self, rng: random.Random, a: int, b: int) -> Match:
        up = exp((self.strengths[a] - self.strengths[b] + self.first) / 2)
        at = rng.random() * (up + 1 / up + self.nu)
        return ("a" if at < up else "b" if at < up + 1 / up else None), None


class Thresholds(NamedTuple):
    """Matches by another model: each match adds noise to the difference in strength, and close matches are draws."""

    strengths: list[float]
    close: float

    def __call__(self, rng: random.Random, a: int, b: int) -> Match:
        lead = self.strengths[a] - self.strengths[b] + rng.gauss(0, 1)
        return ("a" if lead > self.close else "b" if lead < -self.close else None), None


class Parities(NamedTuple):
    """Matches of Even/Odd by players that say "even" with a probability of their own."""

    even: list[float]

    def __call__(self, rng: random.Random, a: int, b: int) -> Match:
        choices = {number: CHOICES[rng.random() >= self.even[number]] for number in (a, b)}
        chances = get_game("even_odd").chances({"choices": choices})
        if choices[a] == choices[b]:
            return None, chances
        return rng.choice("ab"), chances


def normal_strengths(deviation: float, nu: float, first: float = 0.0) -> Callable[[random.Random, int], Play]:
    return lambda rng, players: Davidson([rng.gauss(0, deviation) for _ in range(players)], nu, first)


def giant(rng: random.Random, players: int) -> Play:
    return Davidson([4.0, *[rng.gauss(0, 0.3) for _ in range(players - 1)]], 0.5)


def two_groups(rng: random.Random, players: int) -> Play:
    return Davidson([2.5 * (number % 2) for number in range(players)], 0.3)


def random_parities(rng: random.Random, players: int) -> Play:
    return Parities([0.5] * players)


def own_parities(rng: random.Random, players: int) -> Play:
    return Parities([rng.choice((0.0, 0.5, 1.0)) for _ in range(players)])


SCENARIOS = (
    Scenario("Even/Odd, all choose at random", 30, random_parities),
    Scenario("Even/Odd, all choose at random", 6, random_parities),
    Scenario("Even/Odd, some always say the same", 30, own_parities),
    Scenario("all equal, no draws", 30, normal_strengths(0, 0.0)),
    Scenario("all equal, half are draws", 30, normal_strengths(0, 2.0)),
    Scenario("small differences", 30, normal_strengths(0.4, 0.5)),
    Scenario("middling differences", 30, normal_strengths(1.0, 0.5, 0.3)),
    Scenario("large differences", 30, normal_strengths(2.5, 0.5)),
    Scenario("one giant", 30, giant),
    Scenario("two groups", 30, two_groups),
    Scenario("another model, many draws", 30, lambda rng, n: Thresholds([rng.gauss(0, 0.6) for _ in range(n)], 0.7)),
    Scenario(
        "another model, heavy tails",
        30,
        lambda rng, n: Thresholds([rng.gauss(0, 0.3) ** 3 * 40 for _ in range(n)], 0.2),
    ),
    Scenario("middling differences, one in ten lost without play", 30, normal_strengths(1.0, 0.5), lost=0.1),
    Scenario("middling differences, after 2 rounds", 30, normal_strengths(1.0, 0.5), rounds=2),
    Scenario("middling differences", 4, normal_strengths(1.0, 0.5)),
    Scenario("middling differences", 6, normal_strengths(1.0, 0.5)),
    Scenario("middling differences", 13, normal_strengths(1.0, 0.5)),
    Scenario("middling differences", 60, normal_strengths(1.0, 0.5)),
)


# A league and its repetition --------------------------------------------------------------------


def played(
    scenario: Scenario, play: Play, rng: random.Random, lost: set[str]
) -> tuple[list[Result], list[Chances | None]]:
    """The results of one league."""
    results: list[Result] = []
    known: list[Chances | None] = []
    for number in range(1, (scenario.rounds or rounds_of(scenario.players)) + 1):
        for pairing in planned_round(scenario.players, number).pairings:
            winner, chances = play(rng, pairing.a, pairing.b)
            a, b = f"P{pairing.a:02d}", f"P{pairing.b:02d}"
            if pairing.match_id in lost:
                results.append(Result(number, a, b, "TECHNICAL_LOSS", a))
                known.append(None)
                continue
            status = "DRAW" if winner is None else "WIN"
            results.append(Result(number, a, b, status, {"a": a, "b": b, None: None}[winner]))
            known.append(chances)
    return results, known


def estimate_luck(
    scenario: Scenario, results: list[Result], known: list[Chances | None], seed: str, **how: int
) -> Luck:
    players = tuple(f"P{number:02d}" for number in range(scenario.players))
    luck = play_again(Question(players, tuple(results), SCORING, tuple(known), seed=seed), **how)
    assert luck is not None
    return luck


def run(scenario: Scenario, leagues: int, seed: int, **how: int) -> Figures:
    """Play this many leagues of a kind, each of them twice; ``how``: further arguments of ``play_again``."""
    found = Figures()
    for league in range(leagues):
        rng = random.Random(f"{scenario.name} {scenario.players} {seed} {league}")
        play = scenario.make(rng, scenario.players)
        lost = {
            pairing.match_id
            for number in range(1, rounds_of(scenario.players) + 1)
            for pairing in planned_round(scenario.players, number).pairings
            if rng.random() < scenario.lost
        }
        started = time.process_time()
        luck = estimate_luck(scenario, *played(scenario, play, rng, lost), seed=str(league), **how)
        found.cpu_s.append(time.process_time() - started)
        results, _ = played(scenario, play, rng, lost)
        rows = table({player_id: player_id for player_id in luck.players}, results, SCORING)
        _compare(found, luck, {row.player_id: row.tied_rank for row in rows})
        if isinstance(play, Davidson | Thresholds):
            best = max(range(scenario.players), key=play.strengths.__getitem__)
            champion = next(player_id for player_id, one in luck.players.items() if one.place == 1)
            found.champion_best_said += luck.players[champion].best or 0.0
            found.champion_best_true += champion == f"P{best:02d}"
    return found


def _compare(found: Figures, luck: Luck, places: dict[str, int]) -> None:
    found.leagues += 1
    found.tables_could_be_chance += luck.table_could_be_chance
    for player_id, one in luck.players.items():
        found.intervals += 1
        found.inside += one.low <= places[player_id] <= one.high
        found.widths.append(one.high - one.low + 1)


def main() -> None:
    parser = command_line("luck", __doc__)
    parser.add_argument("--leagues", type=within(1, 10_000), default=60, help="of each kind (60)")
    parser.add_argument("--seed", type=int, default=1, help="what chance is drawn from (1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="the kinds with this text in their name")
    options = parser.parse_args()
    print("| league | players | covered | mean width | could be chance | champion best: said, true | CPU |")
    print("|---|---|---|---|---|---|---|")
    inside = intervals = 0
    for scenario in (one for one in SCENARIOS if options.only in one.name):
        found = run(scenario, options.leagues, options.seed)
        inside, intervals = inside + found.inside, intervals + found.intervals
        # Empty for Even/Odd, in which no player is the best.
        said, true = found.champion_best_said / found.leagues, found.champion_best_true / found.leagues
        best = f"{said:.0%}, {true:.0%}" if said else ""
        print(
            f"| {scenario.name} | {scenario.players} | {found.covered:.1%} | {statistics.fmean(found.widths):.1f} "
            f"| {found.tables_could_be_chance / found.leagues:.0%} | {best} "
            f"| {statistics.median(found.cpu_s):.2f} s |",
            flush=True,
        )
    print(f"| all | | {inside / intervals:.1%} | | | | |")


if __name__ == "__main__":
    main()
