"""2,000 browsers on the board of a league, through the shipped HAProxy, with PostgreSQL and Redis.

``python -m tests.bench.watchers``. Leagues of thirty without and with an audience are played in turn, by two web
processes (``--web 1``: by one). What an audience adds is the difference of their processor times; what a socket
needs of memory is how much each part grows while the sockets are opened.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bench.audience import Audience
from tests.bench.deployed import Deployed, deployed, load, playing
from tests.bench.part import command_line, in_words, percentiles, scratch, until, within

PLAYERS, SOCKETS, PAIRS = 30, 2000, 3
LIMIT_S = 900.0
OPENED_PER_S = 50
"""How many sockets are opened in a second."""
PARTS = ("web", "proxy", "redis")


async def play(bench: Deployed, league: str, audience: Audience) -> dict[str, Any]:
    """Play a league before an audience; returns its figures."""
    before_mb = bench.memory_mb()
    async with audience.watching(bench, len(audience.seen) / OPENED_PER_S):
        grown_mb = {name: mb - before_mb[name] for name, mb in bench.memory_mb().items()}
        if audience.seen:
            grown = ", ".join(f"{part} {1000 * grown_mb[part] / len(audience.seen):.0f}" for part in PARTS)
            print(f"{len(audience.seen)} sockets are open through HAProxy; kB of memory for each: {grown}", flush=True)
        frames, before, begun = audience.frames, bench.cpu_s(), time.perf_counter()
        await asyncio.to_thread(bench.post, f"/leagues/{league}/start", {"auto_advance": True})
        state = "SELECT state FROM matches_league WHERE league_id = %s"
        await until(lambda: bench.rows(state, league) == [("COMPLETED",)], LIMIT_S)
        wall, used = time.perf_counter() - begun, bench.used_s(before)
        frames = audience.frames - frames
    ends = bench.rows(
        "SELECT match_id, extract(epoch FROM finished_at)::float, status, attempt FROM matches_match "
        "WHERE league_id = %s",
        league,
    )
    delays = [1000 * (seen[match_id] - at) for seen in audience.seen for match_id, at, *_ in ends if match_id in seen]
    return {
        "wall_s": wall,
        "cpu_s": used,
        "pushes": frames / max(1, len(audience.seen)),
        "kB": audience.bytes / max(1, audience.frames) / 1000,
        "delays": delays,
        "never_shown": len(ends) * len(audience.seen) - len(delays),
        "again": sum(attempt != 1 or status not in ("WIN", "DRAW") for *_, status, attempt in ends),
    }


def measure(folder: Path, web: int, sockets: int, pairs: int) -> int:
    """Print the figures; returns how many results some browser never showed."""
    leagues = [f"watched_{number}" for number in range(2 * pairs + 1)]
    runs: list[dict[str, Any]] = []
    with deployed(folder, web=web) as bench:
        for league in leagues:
            bench.create(league)
            bench.let_in(league)
        with playing(bench, PLAYERS, *(f"{league}=plain{n}" for n, league in enumerate(leagues))):
            # The first league is not counted: the site is cold. Then without and with an audience, in turn.
            for number, league in enumerate(leagues):
                watched = number > 0 and number % 2 == 0
                runs.append(asyncio.run(play(bench, league, Audience(sockets if watched else 0, league))))
    without, watched_runs = runs[1::2], runs[2::2]
    added = {
        part: statistics.median(
            one["cpu_s"][part] - other["cpu_s"][part] for one, other in zip(watched_runs, without, strict=True)
        )
        for part in PARTS
    }
    pushes = statistics.median(one["pushes"] for one in watched_runs)
    print(f"{sockets} sockets through HAProxy at {web} web processes stayed open ({load()})")
    each = ", ".join(f"{part} {1000 * seconds / pushes:.0f}" for part, seconds in added.items())
    print(f"  {pushes:.0f} pushes a league, {watched_runs[0]['kB']:.1f} kB each; ms of processor added by each: {each}")
    for name, ones in (("without", without), ("with", watched_runs)):
        wall = [one["wall_s"] for one in ones]
        cpu = {part: statistics.median(one["cpu_s"][part] for one in ones) for part in PARTS}
        print(
            f"  {name}: {statistics.median(wall):.1f} s ({min(wall):.1f} to {max(wall):.1f}); processor seconds {cpu}"
        )
    late = percentiles([delay for one in watched_runs for delay in one["delays"]])
    print(f"  from an accepted result to a browser: {in_words(late, 'p50', 'p95', 'max')}")
    never = sum(one["never_shown"] for one in watched_runs)
    print(
        f"  results that some browser never showed: {never}; matches tried again: {sum(one['again'] for one in runs)}"
    )
    return int(never)


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("watchers", __doc__)
    parser.add_argument("--sockets", type=within(1, 4000), default=SOCKETS, help="1 to 4000")
    parser.add_argument("--web", type=within(1, 2), default=2, help="web processes; 1 or 2")
    parser.add_argument("--pairs", type=within(1, 9), default=PAIRS, help="leagues without and with an audience")
    options = parser.parse_args()
    with scratch() as folder:
        try:
            return int(measure(folder, options.web, options.sockets, options.pairs) > 0)
        except pytest.skip.Exception as missing:
            print(f"not measured: {missing}")
            return 0


if __name__ == "__main__":
    sys.exit(main())
