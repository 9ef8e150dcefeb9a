"""How much more a league of mixed dialects costs than the same league in one dialect.

As on any site, players are checked after their registration, and the check finds out how each is spoken to.
"""

from __future__ import annotations

import statistics
import sys

from tests.bench.__main__ import play_in_turn
from tests.bench.part import command_line, scratch

PLAYERS = 18
PAIRS = 7
"""How many leagues of each kind are measured, in turn; before them one of each is played to warm up the site."""
MAX_RATIO = 1.1
"""How many times the processor time of one dialect a mixed league may take: the median of the pairs."""


def main() -> int:
    """Measure and print; returns the exit code."""
    command_line("dialects", __doc__).parse_args()
    with scratch() as folder:
        runs_by_kind = play_in_turn(folder, PLAYERS, ("plain", "mixed"), PAIRS, checked=True)
    for kind, runs in runs_by_kind.items():
        walls = ", ".join(f"{run['wall_s']:.2f}" for run in runs)
        used = ", ".join(f"{run['cpu_s']['all']:.2f}" for run in runs)
        print(f"{kind}: {walls} s, processor {used} s")
    for label, pick in (("wall-clock", lambda run: run["wall_s"]), ("processor", lambda run: run["cpu_s"]["all"])):
        ratios = [
            pick(mixed) / pick(plain) for plain, mixed in zip(runs_by_kind["plain"], runs_by_kind["mixed"], strict=True)
        ]
        ratio = statistics.median(ratios)
        print(f"mixed costs {ratio:.3f} times one dialect in {label} time (median of {PAIRS} pairs)")
    return 0 if ratio <= MAX_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
