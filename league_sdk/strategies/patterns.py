"""History: looks for patterns in what was drawn (004 3.6.2).

The idea: take the last five parities that were drawn, such as even odd odd even odd. If the same five in a row were
seen at least twice before, choose what came next more often. If not, or if both came equally often, try with the last
four, three, two, one. If no pattern says anything, choose what was drawn more often at all.

What it can gain: it finds a draw that repeats itself, such as one that takes turns or a generator that is broken, and
is then right nearly always. It also notices a draw that favours one parity, but a plain count (frequency.py) does so
better: a search for many patterns finds some by chance.

What it cannot gain: anything from a fair draw, where what came next says nothing about what comes next now. It finds
"patterns" there all the same, because every row of random numbers has some, and is right in half of its matches with
them (docs/strategies.md has the figures). The draws of this league are fair, and can be checked (ruling, section 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from league_sdk.strategies.frequency import Frequency, parities_drawn

MAX_LENGTH = 5
"""How many parities in a row are compared; these are 32 different rows, and with more of them few would ever repeat."""
MIN_SEEN = 2
"""How often a row of parities must have been seen before to count as a pattern."""


class History(Frequency):
    """What followed the latest parities when they were drawn before; if that says nothing, as :class:`Frequency`."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        drawn = parities_drawn(context)
        for length in range(MAX_LENGTH, 0, -1):
            expected = leader(followers(drawn, length))
            if expected is not None:
                return expected
        return super().choose(options, context)


def followers(drawn: Sequence[str], length: int) -> list[str]:
    """For each earlier time that the latest ``length`` parities were drawn in this order: the parity that came next."""
    latest = drawn[-length:]
    return [drawn[start + length] for start in range(len(drawn) - length) if drawn[start : start + length] == latest]


def leader(seen: Sequence[str]) -> str | None:
    """The parity that came more often; None if both came equally often, or fewer than :data:`MIN_SEEN` were seen."""
    lead = seen.count("even") - seen.count("odd")
    if len(seen) < MIN_SEEN or lead == 0:
        return None
    return "even" if lead > 0 else "odd"
