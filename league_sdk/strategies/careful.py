"""Careful: looks ahead one own move and one of the opponent, in every game in turns (004 3.8).

The idea: try every move that is allowed. A move that wins is made. A move after which the opponent could
win at once is avoided if there is another. Among the rest it makes the move that is nearest to the middle.

What it can gain: it needs no knowledge of a game but its rules, so it plays every game in turns that is installed, and
it misses no win in one move, neither its own nor one of the opponent that it can stop.

What it cannot gain: a plan. Two threats at once are seen when it is too late to stop both. In a game in which both
choose in secret there is nothing to look at, and it plays at random.
"""

from __future__ import annotations

import random
from typing import Any

from league_sdk.strategies.base import Strategy
from league_sdk.strategies.positions import has_won, position, wins_next


class Careful(Strategy):
    """Wins if it can, keeps the opponent from winning next, else plays near the middle.

    It plays at random if both players choose in secret, the game is not installed here, or the referee does not show
    its ``players`` and ``moves``.

    Args:
        rng: chooses among moves that are equally good.
    """

    quick = True

    def __init__(self, rng: random.Random | None = None) -> None:
        self.rng = rng or random.Random()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return self.rng.choice(options)

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        found = position(context.get("game_type"), state)
        if found is None:
            return self.rng.choice(options)
        game, game_state = found
        (us,) = game.to_move(game_state)
        after = {option: game.apply(game_state, us, option) for option in options}
        winning = [option for option in options if has_won(game, after[option], us)]
        safe = [option for option in options if not wins_next(game, after[option])]
        return self.rng.choice(nearest_to_the_middle(options, winning or safe or options))


def nearest_to_the_middle(options: list[Any], candidates: list[Any]) -> list[Any]:
    """The candidates that are nearest to the middle of all options; all of them if they are not numbers."""
    if not all(isinstance(option, int) for option in options):
        return candidates
    middle = (options[0] + options[-1]) / 2
    nearest = min(abs(option - middle) for option in candidates)
    return [option for option in candidates if abs(option - middle) == nearest]
