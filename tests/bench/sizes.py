"""What a match costs in leagues of ten, a hundred and a thousand players: processor time of host and referees, bytes.

``python -m tests.bench.sizes``. Each size is measured on a fresh site with two referees. Ten players play several
whole leagues; of the larger leagues only the first rounds are played, because a thousand players have 499,500 matches.
Round 1 of each league is not counted: in it the site makes the schedule and finds each agent's dialect.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from tests.bench.part import command_line, scratch
from tests.bench.processes import Bench, running

ROUNDS = {10: 9, 100: 9, 1000: 3}
"""How many rounds of a league are played, by its number of players."""
LEAGUES = {10: 8, 100: 1, 1000: 1}
"""How many leagues are played, by their number of players."""
LIMIT_S = 600.0


def stored(bench: Bench) -> dict[str, int]:
    """Bytes of the database, and of the files in the folders for logs and SHARED."""
    ((pages,),), ((page_size,),) = bench.rows("PRAGMA page_count"), bench.rows("PRAGMA page_size")
    sizes = {"database": int(pages) * int(page_size)}
    for name in ("logs", "SHARED"):
        files = (bench.folder / "data" / name).rglob("*")
        sizes[name] = sum(path.stat().st_size for path in files if path.is_file())
    return sizes


async def play(bench: Bench, league: str, rounds: int) -> dict[str, Any]:
    """Play some rounds of one league; returns the figures of all but the first round."""
    done = "SELECT count(*) FROM matches_round WHERE league_id = ? AND state = 'COMPLETED'"
    cpu: dict[str, float] = {}
    before: dict[str, int] = {}
    begun = schedule_s = 0.0
    for number in range(1, rounds + 1):
        if number == 2:
            cpu, before, begun = bench.cpu_s(), stored(bench), time.perf_counter()
        clicked = time.perf_counter()
        await asyncio.to_thread(bench.post, f"/leagues/{league}/start")
        if number == 1:
            schedule_s = time.perf_counter() - clicked
        await bench.until(done, league, row=(number,), limit_s=LIMIT_S, tick_s=0.05)
    used = bench.used_s(cpu)
    rows = bench.rows(
        "SELECT m.status, m.attempt FROM matches_match m JOIN matches_round r ON r.id = m.round_id "
        "WHERE m.league_id = ? AND r.number BETWEEN 2 AND ?",
        league,
        str(rounds),
    )
    if any(status not in ("WIN", "DRAW") or attempt != 1 for status, attempt in rows):
        raise RuntimeError("not every match was won or drawn in its first attempt")
    wall = time.perf_counter() - begun
    grown = {name: size - before[name] for name, size in stored(bench).items()}
    return {"matches": len(rows), "wall_s": wall, "schedule_s": schedule_s, "cpu_s": used, "grown": grown}


def measure(players: int, rounds: int) -> dict[str, Any]:
    """Play leagues of one size; returns what a match costs, in milliseconds of processor time, with other figures."""
    names = {f"size_{number}": "plain" for number in range(LEAGUES[players])}
    with scratch() as folder, running(folder, players, names) as bench:
        runs = [asyncio.run(play(bench, league, rounds)) for league in names]
    matches = sum(run["matches"] for run in runs)
    used = {part: 1000 * sum(run["cpu_s"][part] for run in runs) / matches for part in ("host", "referees", "players")}
    grown = {part: sum(run["grown"][part] for run in runs) / matches / 1000 for part in ("database", "logs", "SHARED")}
    return {
        "players": players,
        "grown": ", ".join(f"{part} {size:.1f}" for part, size in grown.items()),
        "matches": matches,
        "wall_ms": 1000 * sum(run["wall_s"] for run in runs) / matches,
        "schedule_s": max(run["schedule_s"] for run in runs),
        "cost_ms": used["host"] + used["referees"],
        **used,
    }


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("sizes", __doc__)
    parser.add_argument("--largest", type=int, choices=list(ROUNDS), default=1000)
    options = parser.parse_args()
    by_size = {}
    for players, rounds in ROUNDS.items():
        if players > options.largest:
            break
        one = by_size[players] = measure(players, rounds)
        print(f"{players:5} players: kB per match: {one['grown']}")
        print(
            f"{players:5} players: {one['cost_ms']:6.2f} ms of processor per match (host {one['host']:.2f}, "
            f"referees {one['referees']:.2f}; their players {one['players']:.2f}), {one['wall_ms']:.1f} ms of time; "
            f"{one['matches']} matches; schedule made in {one['schedule_s']:.1f} s",
            flush=True,
        )
    for players, one in by_size.items():
        print(f"cost at {players} players: {one['cost_ms'] / by_size[10]['cost_ms']:.2f} times that at 10")
    return 0


if __name__ == "__main__":
    sys.exit(main())
