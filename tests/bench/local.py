"""How many matches ``league local`` plays in a second of processor time: ``python -m tests.bench.local``.

Two strategies that answer at once, in one process; the median of some runs for each game.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time

from league_sdk.local.entrants import Entrant
from league_sdk.local.league import LocalLeague
from league_sdk.rules.registry import games
from league_sdk.strategies import Frequency, Random

RUNS, MATCHES = 7, 300
AIM_MATCHES_PER_S = 300
"""The aim for Even/Odd, in matches a second of processor time."""


def rate(game_type: str, matches: int) -> float:
    """Play a league of two; returns the matches a second of processor time."""
    entrants = [
        Entrant.of(number, make.__name__, make, game_type) for number, make in enumerate((Random, Frequency), 1)
    ]
    league = LocalLeague(entrants, games()[game_type])
    begun = time.process_time()
    asyncio.run(league.play(matches))
    return league.played / (time.process_time() - begun)


def main() -> int:
    """Measure every game; returns the exit code, which is 1 if Even/Odd misses the aim."""
    figures = {}
    for game_type, game in games().items():
        # A game in turns has more messages, so fewer matches are played.
        matches = MATCHES if game.hidden else MATCHES // 5
        figures[game_type] = statistics.median(rate(game_type, matches) for _ in range(RUNS))
        print(f"{game_type}: {figures[game_type]:,.0f} matches a second of processor time (median of {RUNS})")
    return 0 if figures["even_odd"] >= AIM_MATCHES_PER_S else 1


if __name__ == "__main__":
    sys.exit(main())
