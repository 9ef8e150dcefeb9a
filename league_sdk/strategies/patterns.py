"""History: looks for patterns in what was drawn (004 3.6.2).

The idea: take the last five parities that were drawn, such as even odd odd even odd. If the same five in a row were
seen before, look at what came next then, and choose what came more often. If not, try with the last four, three, two,
one. If no pattern says anything, choose what was drawn more often at all.

What it can gain: it finds a draw that repeats itself, such as one that takes turns or a generator that is broken, and
is then right nearly always. That a draw favours a parity it notices, too, but a plain count (frequency.py) does so
better: the more one looks for, the more one finds that is not there.

What it cannot gain: anything from a fair draw, where what came next says nothing about what comes next now. It finds
"patterns" there all the same, because every row of coin tosses has some: it is as often right with them as a coin
(docs/strategies.md has the figures). The draws of this league are fair, and can be checked (ruling, section 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from league_sdk.strategies.frequency import Frequency, parities_drawn

LONGEST = 5
"""How many parities in a row are compared; with more, 32 and then 64 different rows would hardly ever repeat."""
SEEN_AT_LEAST = 2
"""How often a pattern must have been seen: what happened once is no pattern."""


class History(Frequency):
    """What followed the latest parities when they were drawn before; else as :class:`Frequency`."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        drawn = parities_drawn(context)
        for length in range(LONGEST, 0, -1):
            expected = leader(followers(drawn, length))
            if expected is not None:
                return expected
        return super().choose(options, context)


def followers(drawn: Sequence[str], length: int) -> list[str]:
    """What came next, each time that the latest ``length`` parities were drawn before."""
    latest = drawn[-length:]
    return [drawn[at + length] for at in range(len(drawn) - length) if drawn[at : at + length] == latest]


def leader(seen: Sequence[str]) -> str | None:
    """The parity that came more often; None if there is none, or not enough was seen."""
    lead = seen.count("even") - seen.count("odd")
    if len(seen) < SEEN_AT_LEAST or lead == 0:
        return None
    return "even" if lead > 0 else "odd"
