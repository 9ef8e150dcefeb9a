"""The site as several processes on PostgreSQL and Redis: what a match costs, with how many processes of each kind.

``python -m tests.bench.scale``. Four leagues of thirty players that answer at once are played side by side (so that
the site has work while one round waits for its last match), by 1 and 2 web processes, 1 and 2 conductors, 1, 2 and 4
referees; with ``--leagues 100 --players 8`` only a hundred small leagues, by two of each. Each run has a fresh database
and a fresh Redis, behind the shipped HAProxy. Beside each rate is printed how many cores the machine used: once all are
in use, more processes help only on more machines. So the rate at which the busiest process of each kind would need a
whole core is printed, too. A web process is counted with its sidecar, a referee with its door.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bench.deployed import deployed, playing
from tests.bench.part import command_line, percentiles, scratch, within
from tests.bench.processes import TICKS
from tests.e2e.site import wait_for

PLAYERS = 30
LEAGUES = 4
RUNS = ((1, 1, 1), (1, 1, 2), (1, 1, 4), (2, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 4))
"""How many web processes, conductors and referees."""
MANY = (2, 2, 2)
"""The same for as many leagues as are asked for."""
LIMIT_S = 1200.0
BAR_CHARS = 40
"""Length of the longest bar of the printed chart."""
WHO_CHARS = 30


def machine_s() -> float:
    """Processor seconds that all processes of this machine have used so far, together."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def play(folder: Path, run: tuple[int, int, int], count: int, players: int) -> dict[str, Any]:
    """Play ``count`` leagues; returns the figures."""
    web, conductors, referees = run
    leagues = [f"scale_{number}" for number in range(count)]
    with deployed(folder, web, conductors, referees) as bench:
        for league in leagues:
            bench.create(league)
            bench.let_in(league)
        kinds = [f"{league}=plain{number}" for number, league in enumerate(leagues)]
        with playing(bench, players, *kinds) as (agents, _received):
            bench.groups["players"] = [agents.pid]
            before, machine, begun = bench.cpu_s(), machine_s(), time.perf_counter()
            for league in leagues:
                bench.post(f"/leagues/{league}/start", {"auto_advance": True})
            unfinished = "SELECT count(*) FROM matches_league WHERE league_id LIKE %s AND state != 'COMPLETED'"
            wait_for("the leagues are over", lambda: bench.rows(unfinished, "scale%") == [(0,)], LIMIT_S)
            wall = time.perf_counter() - begun
            used, busy = bench.used_s(before), (machine_s() - machine) / wall
        not_at_once = bench.rows(
            "SELECT league_id, match_id, attempt, status, faults FROM matches_match WHERE league_id LIKE %s "
            "AND (attempt != 1 OR status NOT IN ('WIN', 'DRAW'))",
            "scale%",
        )
        lost = bench.rows("SELECT data FROM matches_event WHERE kind = 'attempt_lost'")
        ends = bench.rows(
            "SELECT extract(epoch FROM completed_at - started_at)::float FROM matches_league WHERE league_id LIKE %s",
            "scale%",
        )
        late = bench.rows("SELECT count(*) FROM matches_delivery WHERE state = 'FAILED'")
    matches = count * players * (players - 1) // 2
    return {
        "who": f"{web} web, {conductors} conducting, {referees} judging",
        "matches": matches,
        "matches_per_s": matches / wall,
        "busy": busy,
        "ms": {name: 1000 * value / matches for name, value in used.items()},
        "processes": {"web": web, "referees": referees},
        "league_s": percentiles([seconds for (seconds,) in ends]),
        "again": len(not_at_once),
        "faults": [row for row in not_at_once if row[3] not in ("WIN", "DRAW")],
        "why": lost[:5],
        "undelivered": late[0][0],
    }


def main() -> int:
    """Measure and print the curve; returns the exit code."""
    parser = command_line("scale", __doc__)
    parser.add_argument("--players", type=within(2, 100), default=PLAYERS, help="2 to 100")
    parser.add_argument("--leagues", type=within(1, 200), help="only one run, of this many leagues")
    options = parser.parse_args()
    runs, all_done = [], True
    for run in [MANY] if options.leagues else RUNS:
        with scratch() as folder:
            try:
                runs.append(play(folder, run, options.leagues or LEAGUES, options.players))
            except pytest.skip.Exception as missing:
                print(f"not measured: {missing}")
                return 0
        show(runs[-1])
        all_done = all_done and not runs[-1]["faults"]
    cores = os.cpu_count() or 1
    max_rate = max(one["matches_per_s"] for one in runs)
    print(f"{'':{WHO_CHARS}}   matches/s   cores in use")
    for one in runs:
        bar = "#" * round(BAR_CHARS * one["matches_per_s"] / max_rate)
        print(f"{one['who']:{WHO_CHARS}}   {one['matches_per_s']:9.1f}   {one['busy']:.2f} of {cores}   {bar}")
    return int(not all_done)


def show(one: dict[str, Any]) -> None:
    """Print what a match cost in one run."""
    ms = ", ".join(f"{name} {value:.1f}" for name, value in one["ms"].items())
    print(f"{one['who']}: {one['matches']} matches, {one['matches_per_s']:.1f}/s; ms of processor per match: {ms}")
    each = {name: value / one["processes"].get(name, 1) for name, value in one["ms"].items() if value}
    full = ", ".join(f"{name} {1000 / value:.0f}" for name, value in each.items())
    print(f"  matches a second at which one process of a part needs a whole core: {full}")
    print(
        f"  a league took {one['league_s']['p50']:.1f} s (median), {one['league_s']['max']:.1f} s at most; "
        f"second attempts {one['again']} {one['why']}, technical losses {one['faults']}, "
        f"messages not delivered {one['undelivered']}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
