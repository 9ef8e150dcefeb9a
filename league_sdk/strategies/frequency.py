"""Frequency: the parity that was drawn more often so far (004 3.6.2).

The idea: count how often an even and how often an odd number was drawn in all matches seen, and choose the leader.

What it can gain: if the draw favoured one parity, it would soon be on the right side. That is the only thing that a
count can find out.

What it cannot gain: anything from a fair draw. Each number is a new draw, whatever was drawn before, so that a lead of
one parity says nothing about the next number: it guesses right in half of all matches (docs/strategies.md has the
figures). To expect the leader, or to expect that the other one is "due", is the gambler's fallacy from its two sides.
"""

from __future__ import annotations

from typing import Any

from league_sdk.rules import even_odd
from league_sdk.strategies.careful import Careful


def parities_drawn(context: dict[str, Any]) -> list[str]:
    """What was drawn in all matches seen, ``"even"`` or ``"odd"``, oldest first."""
    return [even_odd.parity(number) for number in context.get("numbers_drawn", ())]


class Frequency(Careful):
    """The parity that was drawn more often; a random one if both were drawn equally often. Other games: careful."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        drawn = parities_drawn(context)
        lead = drawn.count("even") - drawn.count("odd")
        if lead == 0:
            return self.rng.choice(options)
        return "even" if lead > 0 else "odd"
