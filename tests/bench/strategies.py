"""The figures of docs/strategies.md: the strategies of the SDK against each other, in memory, by the games' rules.

Chance comes from --seed, and the search of Connect Four looks a number of moves ahead and not at the clock, so that the
figures are the same on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement, cycle
from typing import Any

from league_sdk.local.intervals import Z_95, wilson
from league_sdk.player import Alternating, AlwaysEven, AlwaysOdd, Careful, Frequency, History, Random, Strategy
from league_sdk.rules.even_odd import CHOICES, parity
from league_sdk.rules.game import Game, Outcome
from league_sdk.rules.registry import get_game
from league_sdk.strategies import Perfect, Search
from tests.bench.part import command_line, within

LEAGUE = 100
"""Matches after which the players of Even/Odd begin with an empty history, as in a new league."""
OPENING = {"connect_four": 2}
"""How many moves are made at random before the players take over: they leave little to chance themselves, so that they
would play the same few matches again and again."""
POINTS = {"win": 3, "draw": 1, "loss": 0}

Make = Callable[[random.Random], Strategy]
PARITIES: dict[str, Make] = {
    "random": Random,
    "even": AlwaysEven,
    "odd": AlwaysOdd,
    "alternating": Alternating,
    "frequency": Frequency,
    "history": History,
}


@dataclass
class Player:
    """A player of a series, with what it remembers of its matches."""

    name: str
    strategy: Strategy
    numbers: list[int] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)

    def move(self, game: Game, options: list[Any], state: dict[str, Any]) -> Any:
        context = {"game_type": game.game_type, "player_id": self.name}
        context |= {"numbers_drawn": self.numbers, "history": self.history}
        if game.game_type == "even_odd":
            return self.strategy.choose(options, context)
        return self.strategy.move(options, state, context)

    def remember(self, outcome: Outcome) -> None:
        if (number := outcome.details.get("drawn_number")) is not None:
            self.numbers.append(number)
            self.history.append({"my_choice": outcome.details["choices"][self.name]})

    def forget(self) -> None:
        self.numbers.clear()
        self.history.clear()


def play(game: Game, players: Sequence[Player], rng: random.Random) -> str | None:
    """Play a match; returns the name of the winner, or None for a draw."""
    by_name = {player.name: player for player in players}
    first, second = by_name
    state = game.new_state((first, second))
    for _ in range(OPENING.get(game.game_type, 0)):
        (mover,) = game.to_move(state)
        state = game.apply(state, mover, rng.choice(game.options(state, mover)))
    while (outcome := game.outcome(state)) is None:
        moves = {
            name: by_name[name].move(game, game.options(state, name), game.view(state, name))
            for name in game.to_move(state)
        }
        for name, move in moves.items():
            state = game.apply(state, name, move)
        if not moves:
            state = game.draw(state, rng)
    for player in players:
        player.remember(outcome)
    return outcome.winner


def series(game: Game, makes: dict[str, Make], matches: int, rng: random.Random) -> list[int]:
    """How many wins, draws and losses the first strategy has; each of the two is PLAYER_A in half of the matches."""
    players = [Player(name, make(rng)) for name, make in makes.items()]
    counts = {players[0].name: 0, None: 0, players[1].name: 0}
    for number in range(matches):
        if number % LEAGUE == 0:
            for player in players:
                player.forget()
        counts[play(game, players[:: 1 if number % 2 else -1], rng)] += 1
    return list(counts.values())


def percent(count: int, of: int) -> str:
    low, high = wilson(count / of if of else 0.0, of)
    return f"{100 * count / of if of else 0:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def show(title: str, heading: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    """Print a table as Markdown, each row as soon as it is computed."""
    print(f"\n{title}\n\n| {' | '.join(heading)} |\n|{'---|' * len(heading)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def duels(
    game_type: str, pairs: Sequence[tuple[tuple[str, Make], tuple[str, Make]]], matches: int, rng: random.Random
) -> Iterator[Sequence[str]]:
    for (first, make), (second, other) in pairs:
        # The space makes the names differ when a strategy plays against itself.
        won, drawn, lost = series(get_game(game_type), {first: make, f"{second} ": other}, matches, rng)
        decided = percent(won, won + lost) if won + lost else "none"
        yield first, second, percent(won, matches), f"{100 * drawn / matches:.1f} %", percent(lost, matches), decided


DUEL = ("A", "B", "A wins", "draws", "B wins", "A's share of the decided ones")


def fair(rng: random.Random) -> Iterator[int]:
    while True:
        yield rng.randint(1, 10)


def favouring_even(rng: random.Random) -> Iterator[int]:
    while True:
        yield 2 if rng.random() < 0.6 else 1


def repeating(rng: random.Random) -> Iterator[int]:
    """A generator that repeats itself after seven numbers."""
    return cycle([rng.randint(1, 10) for _ in range(7)])


DRAWS: dict[str, Callable[[random.Random], Iterator[int]]] = {
    "fair": fair,
    "even in 60 %": favouring_even,
    "odd, even, odd, even": lambda rng: cycle([1, 2]),
    "seven numbers that repeat": repeating,
}


def guesses(matches: int, rng: random.Random) -> Iterator[Sequence[str]]:
    """How often each strategy says the parity that is drawn, if the draw is fair and if it is not."""
    for name, make in PARITIES.items():
        shares = []
        for draw in DRAWS.values():
            right, player = 0, Player(name, make(rng))
            for number in range(matches):
                if number % LEAGUE == 0:
                    player.forget()
                    drawn = draw(rng)
                choice = player.strategy.choose(
                    list(CHOICES), {"numbers_drawn": player.numbers, "history": player.history}
                )
                player.numbers.append(next(drawn))
                player.history.append({"my_choice": choice})
                right += choice == parity(player.numbers[-1])
            shares.append(percent(right, matches))
        yield name, *shares


def crowds(matches: int, rng: random.Random) -> Iterator[Sequence[str]]:
    """Points a match in leagues of ten in which nine play the same."""
    game = get_game("even_odd")
    for crowd, one in (("even", "odd"), ("even", "even"), ("even", "random"), ("random", "odd"), ("random", "random")):
        points: dict[bool, list[int]] = {True: [], False: []}
        while len(points[True]) < matches:
            # The last player is the one that plays differently.
            names = [crowd] * 9 + [one]
            players = [Player(f"{name}{number}", PARITIES[name](rng)) for number, name in enumerate(names)]
            for pair in combinations(players, 2):
                winner = play(game, pair, rng)
                for player in pair:
                    result = "draw" if winner is None else "win" if winner == player.name else "loss"
                    points[player is players[-1]].append(POINTS[result])
        yield f"nine {crowd}, one {one}", mean(points[True][:matches]), mean(points[False])


def mean(values: Sequence[int]) -> str:
    middle = sum(values) / len(values)
    deviation = (sum((value - middle) ** 2 for value in values) / len(values)) ** 0.5
    return f"{middle:.2f} ± {Z_95 * deviation / len(values) ** 0.5:.2f}"


def tic_tac_toe(matches: int, rng: random.Random) -> None:
    """A game of skill in which nobody has to lose."""
    perfect, careful, plain = ("perfect", Perfect), ("careful", Careful), ("random", Random)
    pairs = [(perfect, plain), (perfect, careful), (perfect, perfect), (careful, plain)]
    show("Tic-Tac-Toe", DUEL, duels("tic_tac_toe", pairs, matches, rng))


def connect_four(matches: int, depth: int, rng: random.Random) -> None:
    """A game of skill; the first two moves are random."""
    careful, plain = ("careful", Careful), ("random", Random)
    search = ("search", lambda rng: Search(rng, max_depth=depth, clock=lambda: 0.0))
    pairs = [(search, plain), (search, careful), (careful, plain)]
    show(f"Connect Four, search {depth} moves ahead", DUEL, duels("connect_four", pairs, matches, rng))


def main() -> None:
    parser = command_line("strategies", __doc__)
    parser.add_argument("--matches", type=within(100, 1_000_000), default=10_000, help="of each pair")
    parser.add_argument("--four", type=within(10, 100_000), default=300, help="of each pair in Connect Four")
    parser.add_argument("--depth", type=within(1, 12), default=6, help="how far the search looks")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    matches = options.matches

    def chance() -> random.Random:
        """A random generator with the same seed for each table, so that none depends on those before it."""
        return random.Random(options.seed)

    pairs = list(combinations_with_replacement(PARITIES.items(), 2))
    show("Even/Odd", DUEL, duels("even_odd", pairs, matches, chance()))
    show("Right guesses, by how numbers are drawn", ("strategy", *DRAWS), guesses(matches, chance()))
    show("Points a match in leagues of ten", ("players", "the one", "the nine, each"), crowds(matches, chance()))
    numbers = [(("random", Random), ("careful", Careful))]
    show("Even/Odd with numbers", DUEL, duels("even_odd_numbers", numbers, matches, chance()))
    tic_tac_toe(matches, chance())
    connect_four(options.four, options.depth, chance())


if __name__ == "__main__":
    main()
