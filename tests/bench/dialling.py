"""What players that dial out cost the site, beside players that it calls; and what agents cost it that only wait.

``python -m tests.bench.dialling``. Leagues of each kind are played in turn on one site. With ``--players 200 --rounds
2`` one league of each kind is played, in each turn two rounds of 100 matches at once: a whole league would have 19,900
matches.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench.__main__ import LIMIT_S, play_in_turn
from tests.bench.part import command_line, scratch
from tests.bench.processes import Bench, running

PLAYERS = 30
PAIRS = 7
"""How many leagues (with ``--rounds``: turns) of each kind are measured, after one that is not counted."""
KINDS = ("plain", "websocket", "poll")
IDLE_AGENTS, IDLE_S = 1000, 20.0
"""How many agents wait for messages, and how long they are observed."""


def rounds_in_turn(folder: Path, players: int, rounds: int, times: int) -> dict[str, list[dict[str, Any]]]:
    """Play one league of each kind, ``times`` turns of some rounds each; returns the figures of each kind, in order.

    The first round of each is not counted: in it the schedule is made, and the site finds out how agents speak.
    """
    figures: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    with running(folder, players, {kind: kind for kind in KINDS}, matches_at_once=64) as bench:
        for kind in KINDS:
            asyncio.run(_play_round(bench, kind, 1))
        for turn in range(times):
            for kind in KINDS:
                before, begun = bench.cpu_s(), time.perf_counter()
                for number in range(rounds):
                    asyncio.run(_play_round(bench, kind, 2 + turn * rounds + number))
                figures[kind].append({"cpu_s": bench.used_s(before), "wall_s": time.perf_counter() - begun})
            print(f"turn {turn + 1}: " + ", ".join(f"{kind} {figures[kind][-1]['wall_s']:.1f} s" for kind in KINDS))
        for kind in KINDS:
            ends = bench.rows("SELECT status, count(*) FROM matches_match WHERE league_id = ? GROUP BY 1", kind)
            print(f"{kind}: matches by their end {dict(ends)}")
    return figures


async def _play_round(bench: Bench, league: str, number: int) -> None:
    await asyncio.to_thread(bench.post, f"/leagues/{league}/start", {"auto_advance": False})
    state = "SELECT state FROM matches_round WHERE league_id = ? AND number = ?"
    await bench.until(state, league, str(number), row=("COMPLETED",), limit_s=LIMIT_S)


def wait_idle(folder: Path, delivery: str, agents: int) -> tuple[float, float, float]:
    """Let agents wait for messages.

    Returns the share of a core that the host uses without them, what they add to it, and the megabytes that it has
    grown by.
    """
    bench = Bench(folder, agents)
    try:
        bench.start_site(referees=1)
        alone, alone_mb = _used(bench), bench.host.memory_mb()
        bench.start_speakers({f"idle_{delivery}": delivery})
        return alone, _used(bench) - alone, bench.host.memory_mb() - alone_mb
    finally:
        bench.stop()


def _used(bench: Bench) -> float:
    """The share of a core that the host uses while nothing happens."""
    begun, before = time.monotonic(), bench.host.cpu_s()
    time.sleep(IDLE_S)
    return (bench.host.cpu_s() - before) / (time.monotonic() - begun)


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("dialling", __doc__)
    parser.add_argument("--players", type=int, default=PLAYERS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--rounds", type=int, default=0, help="rounds of each turn; 0: whole leagues")
    parser.add_argument("--idle", type=int, default=IDLE_AGENTS, help="0: none")
    options = parser.parse_args()
    with scratch() as folder:
        if options.rounds:
            figures = rounds_in_turn(folder, options.players, options.rounds, options.pairs)
        else:
            figures = play_in_turn(folder, options.players, KINDS, options.pairs)
    site = {kind: [run["cpu_s"]["host"] + run["cpu_s"]["referees"] for run in runs] for kind, runs in figures.items()}
    for kind, used in site.items():
        ratios = [one / plain for one, plain in zip(used, site["plain"], strict=True)]
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(
            f"{kind}: processor time of the site {statistics.median(used):.2f} s, {each} times that of called players;"
        )
        print(f"  median {statistics.median(ratios):.2f} times")
    for delivery in ("websocket", "poll") if options.idle else ():
        with scratch() as folder:
            alone, added, grown_mb = wait_idle(folder, delivery, options.idle)
        print(
            f"{options.idle} wait idle by {delivery}: {added:.3f} of a core beside the {alone:.3f} without them, "
            f"{grown_mb:.0f} MB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
