"""What an audience costs a league: leagues with many browsers on the board and leagues without, in turn on one site.

``python -m tests.bench.watching``. Players answer at once. Times and ratios are medians over the pairs, with ranges.
"""

from __future__ import annotations

import asyncio
import os
import statistics
from typing import Any

from tests.bench.__main__ import play
from tests.bench.audience import Audience
from tests.bench.part import command_line, percentiles, scratch, within
from tests.bench.processes import running

PLAYERS = 30
PAIRS = 7


def measure(pairs: int, sockets: int, *, packed: bool) -> dict[str, Any]:
    """Play a league without and a league with an audience ``pairs`` times; returns the figures."""
    names = [f"league_{number}" for number in range(2 * pairs + 1)]
    quiet, watched = [], []
    p50, p95 = [], []
    never_shown = frames = 0
    with scratch() as folder, running(folder, PLAYERS, dict.fromkeys(names, "plain")) as bench:
        # The first league warms up the site, and is not counted.
        asyncio.run(play(bench, Audience(0), names[0]))
        for without, with_audience in zip(names[1::2], names[2::2], strict=True):
            quiet.append(asyncio.run(play(bench, Audience(0), without)))
            audience = Audience(sockets, with_audience, packed=packed)
            watched.append(asyncio.run(play(bench, audience, with_audience)))
            seen, missing = audience.delays_ms(bench)
            delays = percentiles(seen)
            p50.append(delays["p50"])
            p95.append(delays["p95"])
            never_shown += missing
            frames += audience.frames // sockets
    return {
        "quiet_s": [one["wall_s"] for one in quiet],
        "watched_s": [one["wall_s"] for one in watched],
        "ratios": [b["wall_s"] / a["wall_s"] for a, b in zip(quiet, watched, strict=True)],
        "processor": [b["cpu_s"]["all"] / a["cpu_s"]["all"] for a, b in zip(quiet, watched, strict=True)],
        "p50_ms": p50,
        "p95_ms": p95,
        "never_shown": never_shown,
        "frames": frames / pairs,
    }


def main() -> None:
    """Measure and print."""
    parser = command_line("watching", __doc__)
    parser.add_argument("--pairs", type=within(1, 20), default=PAIRS, help="1 to 20")
    parser.add_argument("--sockets", type=within(1, 1000), default=100, help="on the board; 1 to 1000")
    parser.add_argument("--plain", action="store_true", help="frames without gzip, as for a browser of before 2023")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    measured = measure(options.pairs, options.sockets, packed=not options.plain)
    print(f"{PLAYERS} players, {options.sockets} browsers, {options.pairs} pairs; load before: {load:.1f}")
    for label, key in (("league without, s", "quiet_s"), ("league with, s", "watched_s")):
        print(f"  {label:<24}{_spread(measured[key])}")
    for label, key in (("with / without", "ratios"), ("in processor time", "processor")):
        print(f"  {label:<24}{_spread(measured[key])}")
    for label, key in (("result to frame, p50, ms", "p50_ms"), ("result to frame, p95, ms", "p95_ms")):
        print(f"  {label:<24}{_spread(measured[key])}")
    print(
        f"  frames to each browser  {measured['frames']:8.1f} a league; results never shown: {measured['never_shown']}"
    )


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):8.2f}   ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
