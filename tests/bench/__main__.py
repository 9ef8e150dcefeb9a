"""Play a league without an audience, then the floor (the same calls without the site), then a league with an audience.

Prints how long each took.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench import stack
from tests.bench.audience import Audience
from tests.bench.floor import Script
from tests.bench.part import command_line, in_words, percentiles, scratch, within
from tests.bench.processes import LEAGUE, Bench, running

LIMIT_S = 600.0
"""How long a league may take."""
FLOOR_RUNS = 3
"""How often the floor and the stack are measured; the medians count."""


def options() -> argparse.Namespace:
    """Parse the command line; values out of bounds are refused."""
    parser = command_line("", __doc__)
    parser.add_argument("--players", type=within(2, 100), default=30, help="2 to 100; 30 play 435 matches")
    parser.add_argument(
        "--sockets", type=within(0, 1000), default=100, help="on the board in the second run; 0 to 1000"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    return parser.parse_args()


async def play(bench: Bench, audience: Audience, league: str = LEAGUE) -> dict[str, Any]:
    """Play one league, from the request that starts it until it is COMPLETED; returns its figures."""
    async with audience.watching(bench):
        cpu, begun = bench.cpu_s(), time.perf_counter()
        await asyncio.to_thread(bench.post, f"/leagues/{league}/start", {"auto_advance": True})
        state = "SELECT state FROM matches_league WHERE league_id = ?"
        await bench.until(state, league, row=("COMPLETED",), limit_s=LIMIT_S)
        wall, used = time.perf_counter() - begun, bench.used_s(cpu)
    matches = bench.rows("SELECT status, attempt FROM matches_match WHERE league_id = ?", league)
    not_at_once = [match for match in matches if match[0] not in ("WIN", "DRAW") or match[1] != 1]
    if not_at_once:
        first = not_at_once[:5]
        raise RuntimeError(
            f"{len(not_at_once)} of {len(matches)} matches were not won or drawn in their first attempt: {first}"
        )
    return {
        "matches": len(matches),
        "wall_s": wall,
        "matches_per_s": len(matches) / wall,
        "cpu_s": used | {"all": sum(used.values())},
    }


def play_in_turn(
    folder: Path, players: int, kinds: Sequence[str], times: int, *, checked: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """Play leagues of several kinds of speakers in turn on one site; returns the figures of each kind, in order.

    The first league of each kind is not counted: the site is cold.

    Args:
        checked: every player is checked after its registration, as on any site, and the first league waits for that.
            What is known of an agent belongs to its registration: without a check, the first round of each league
            finds out the dialects of its players.
    """
    leagues = {f"{kind}_{number}": kind for number in range(times + 1) for kind in kinds}
    figures: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    with running(folder, players, leagues, checked=checked) as bench:
        for league, kind in leagues.items():
            one = asyncio.run(play(bench, Audience(0), league))
            if not league.endswith("_0"):
                figures[kind].append(one)
    return figures


def quiet_run(folder: Path, players: int) -> dict[str, Any]:
    """Play the league without an audience, then the floor with the same players; returns the figures of both."""
    with running(folder, players) as bench:
        figures = asyncio.run(play(bench, Audience(0)))
        bench.stop_site()
        figures["report_ms"] = percentiles(bench.calls_ms("report_match_result"))
        figures["progress_ms"] = percentiles(bench.calls_ms("report_progress"))
        figures["progress_calls"] = len(bench.calls_ms("report_progress"))
        figures["floor"] = floor(bench, folder / "stack")
    figures["ratio"] = figures["wall_s"] / figures["floor"]["wall_s"]
    figures["cpu_ratio"] = figures["cpu_s"]["all"] / figures["floor"]["cpu_s"]
    return figures


def floor(bench: Bench, folder: Path) -> dict[str, Any]:
    """Send the same calls without the site, by aiohttp and once by httpx, then through the stack of the site.

    Returns the number of calls and the seconds; those of aiohttp and of the stack are medians.
    """
    script = Script(bench)
    walls, used = [], []
    for _ in range(FLOOR_RUNS):
        before = time.process_time() + bench.players.cpu_s()
        walls.append(asyncio.run(script.play()))
        used.append(time.process_time() + bench.players.cpu_s() - before)
    return {
        "calls": script.calls,
        "wall_s": statistics.median(walls),
        "cpu_s": statistics.median(used),
        "all_s": walls,
        "httpx_s": asyncio.run(script.play_by_httpx()),
        "stack_s": statistics.median(_through_the_stack(script, folder / str(n)) for n in range(FLOOR_RUNS)),
    }


def _through_the_stack(script: Script, folder: Path) -> float:
    folder.mkdir(parents=True)
    return stack.measure(script, folder)


def watched_run(folder: Path, players: int, sockets: int) -> dict[str, Any]:
    """Play the league with an audience; returns its figures."""
    audience = Audience(sockets)
    with running(folder, players) as bench:
        figures = asyncio.run(play(bench, audience))
        bench.stop_site()
        figures["report_ms"] = percentiles(bench.calls_ms("report_match_result"))
        delays, missing = audience.delays_ms(bench)
    figures["push_ms"] = percentiles(delays)
    figures["sockets"] = {
        "open": sockets,
        "frames": audience.frames,
        "MB": audience.bytes / 1e6,
        "never_shown": missing,
    }
    return figures


def machine() -> dict[str, Any]:
    """The machine that the bench runs on, and its load average before the run."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def show(name: str, run: dict[str, Any]) -> None:
    """Print the figures of one run."""
    cpu = run["cpu_s"]
    print(f"{name}: {run['matches']} matches")
    print(f"  wall clock            {run['wall_s']:8.2f} s   {run['matches_per_s']:.1f} matches a second")
    print(
        f"  processor             {cpu['all']:8.2f} s   "
        f"host {cpu['host']:.2f}, referees {cpu['referees']:.2f}, players {cpu['players']:.2f}"
    )
    if "floor" in run:
        floors = ", ".join(f"{one:.2f}" for one in run["floor"]["all_s"])
        print(
            f"  floor                 {run['floor']['wall_s']:8.2f} s   {run['floor']['calls']} calls ({floors}), "
            f"processor {run['floor']['cpu_s']:.2f} s"
        )
        print(f"  times the floor       {run['ratio']:8.2f}     in processor time {run['cpu_ratio']:.2f}")
        alone = run["floor"]["stack_s"]
        print(f"  the stack alone       {alone:8.2f} s   {alone / run['floor']['wall_s']:.2f} times the floor")
        print(f"  the same by httpx     {run['floor']['httpx_s']:8.2f} s")
    lines = [("report_match_result", "report_ms"), ("report_progress", "progress_ms"), ("push", "push_ms")]
    for label, key in lines:
        if key in run:
            print(f"  {label:<20}  {in_words(run[key])}")
    if "sockets" in run:
        one = run["sockets"]
        print(f"  {one['open']} sockets: {one['frames']} frames, {one['MB']:.0f} MB, {one['never_shown']} never shown")


def main() -> int:
    """Run the bench; returns the exit code."""
    arguments = options()
    figures: dict[str, Any] = {"machine": machine(), "players": arguments.players}
    print(" ".join(f"{name} {value}" for name, value in figures["machine"].items()), flush=True)
    with scratch() as folder:
        for part in ("quiet", "watched"):
            (folder / part).mkdir()
        figures["quiet"] = quiet_run(folder / "quiet", arguments.players)
        show("without an audience", figures["quiet"])
        if arguments.sockets:
            figures["watched"] = watched_run(folder / "watched", arguments.players, arguments.sockets)
            show("with an audience", figures["watched"])
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
