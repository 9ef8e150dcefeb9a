"""Strategies that look at nothing, or only at their own last choice: random, even, odd, alternating (004 3.6.1).

What they can gain: they compute nothing, cannot fail, and do not depend on the numbers drawn, so nobody can
predict them from those. In Even/Odd each of them guesses right in half of all matches, as does everything else.

What they cannot gain: more wins than that. An opponent who notices that you always say "even" cannot win more often by
it, either; it can only decide whether the match ends in a draw (by "even", too) or one of you wins (by "odd").
"""

from __future__ import annotations

import random
from typing import Any

from league_sdk.rules.even_odd import CHOICES
from league_sdk.strategies.base import Strategy
from league_sdk.strategies.careful import Careful


class Random(Strategy):
    """Any of the allowed moves, each equally likely, in every game.

    Args:
        rng: where the chance comes from.
    """

    quick = True

    def __init__(self, rng: random.Random | None = None) -> None:
        self.rng = rng or random.Random()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return self.rng.choice(options)

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        return self.rng.choice(options)


class AlwaysEven(Careful):
    """Always ``"even"``; other games as :class:`Careful`."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return "even"


class AlwaysOdd(Careful):
    """Always ``"odd"``; other games as :class:`Careful`."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return "odd"


class Alternating(Careful):
    """The other parity than in its last match, "even" in its first; other games as :class:`Careful`.

    It keeps no count of its own: the history says what it chose last, also after a restart.
    """

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        mine = [row.get("my_choice") for row in context.get("history", ())]
        parities = [choice for choice in mine if choice in CHOICES]
        return "odd" if parities and parities[-1] == "even" else "even"
