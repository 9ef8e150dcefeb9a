"""What a league of mixed dialects costs against the same league in one, once the dialects are known."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.bench.__main__ import play
from tests.bench.audience import Audience
from tests.bench.part import command_line, scratch
from tests.bench.processes import running

PLAYERS = 18
ROUNDS = 3
"""Measured leagues of each kind, in turn, after one of each in which the dialects are found."""


def measure(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Play them all on one site; the figures of the measured ones by kind."""
    kinds = ("plain", "mixed")
    leagues = {f"{kind}_{number}": kind for number in range(ROUNDS + 1) for kind in kinds}
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    with running(folder, PLAYERS, leagues) as bench:
        for league, kind in leagues.items():
            figures = asyncio.run(play(bench, Audience(0), league))
            if not league.endswith("_0"):
                found[kind].append(figures)
    return found


def main() -> int:
    """Measure and print; the exit code."""
    command_line("dialects", __doc__).parse_args()
    with scratch() as folder:
        found = measure(folder)
    for kind, runs in found.items():
        walls = ", ".join(f"{run['wall_s']:.2f}" for run in runs)
        used = ", ".join(f"{run['cpu_s']['all']:.2f}" for run in runs)
        print(f"{kind}: {runs[0]['matches']} matches in {walls} s, processor {used} s")
    for label, pick in (("wall", lambda run: run["wall_s"]), ("processor", lambda run: run["cpu_s"]["all"])):
        best = {kind: min(pick(run) for run in runs) for kind, runs in found.items()}
        print(f"mixed costs {best['mixed'] / best['plain']:.3f} times one dialect in {label} time (best of {ROUNDS})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
