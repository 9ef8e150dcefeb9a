"""What keeping the folder SHARED (docs/shared.md) costs: leagues with and without it in alternating pairs.

Each league is played on a fresh site; processor time is compared.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from tests.bench.__main__ import play
from tests.bench.audience import Audience
from tests.bench.part import command_line, scratch, within
from tests.bench.processes import running


def league(players: int, *, shared: bool) -> dict[str, Any]:
    """Play one league; returns its figures."""
    os.environ["LEAGUE_SHARED"] = "1" if shared else "0"
    with scratch() as folder, running(folder, players) as bench:
        return asyncio.run(play(bench, Audience(0)))


def measure(players: int, pairs: int) -> dict[str, Any]:
    """Play the pairs; returns the figures of both kinds, in the order of play."""
    figures: dict[str, list[dict[str, Any]]] = {"with": [], "without": []}
    for number in range(pairs):
        # The kinds take turns at being first in a pair, because the machine may become faster or slower meanwhile.
        for kind in ("with", "without") if number % 2 else ("without", "with"):
            one = league(players, shared=kind == "with")
            figures[kind].append(one)
            used = one["cpu_s"]
            sys.stdout.write(
                f"{kind:8} wall clock {one['wall_s']:.2f} s, host {used['host']:.2f}, all {used['all']:.2f} s\n"
            )
            sys.stdout.flush()
    return figures


def main() -> None:
    """Measure and print."""
    parser = command_line("shared", __doc__)
    parser.add_argument("--players", type=within(2, 100), default=30)
    parser.add_argument("--pairs", type=within(1, 50), default=7)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    options = parser.parse_args()
    figures = measure(options.players, options.pairs)
    used = {kind: [one["cpu_s"]["all"] for one in ones] for kind, ones in figures.items()}
    for kind, ones in used.items():
        sys.stdout.write(f"{kind:8} processor {statistics.median(ones):.2f} s ({min(ones):.2f} to {max(ones):.2f})\n")
    ratios = [on / off for on, off in zip(used["with"], used["without"], strict=True)]
    sys.stdout.write(f"with / without: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})\n")
    if options.json:
        options.json.write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
