"""The site as several processes on PostgreSQL and Redis: how matches a second grow with the number of web processes.

``python -m tests.bench.scale``. Four leagues of thirty players that answer at once are played side by side (so that
the site has work while one round waits for its last match), by one conductor and by 1, 2 and 4 web processes with one
referee each; then ten leagues by two web processes and by one and two conductors. Each run has a fresh database and a
fresh Redis. Beside each rate is printed how many cores were in use: once all cores are, more processes help only on
more machines. So the rate at which the busiest conductor would need a whole core is printed, too. The sidecars of web
processes and the doors of referees are counted with the whole machine only.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.bench.part import command_line, scratch, within
from tests.bench.processes import TICKS, Process
from tests.e2e.scaled import scaled_site
from tests.e2e.site import wait_for

PLAYERS = 30
LEAGUES = 4
MORE_LEAGUES = 10
RUNS = ((1, 1, LEAGUES), (2, 1, LEAGUES), (4, 1, LEAGUES), (2, 1, MORE_LEAGUES), (2, 2, MORE_LEAGUES))
"""How many web processes, conductors and leagues."""
LIMIT_S = 240.0
BAR_CHARS = 40
"""Length of the longest bar of the printed chart."""
WHO_CHARS = 30


def used_s(pid: int) -> float:
    """Processor seconds of a process so far, without its children: a web process' sidecar, a referee's door."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def machine_s() -> float:
    """Processor seconds that all processes of this machine have used so far, together."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def play(folder: Path, web: int, conducting: int, count: int, players: int) -> dict[str, Any]:
    """Play ``count`` leagues with ``web`` web processes, each with a referee; returns the figures."""
    with ExitStack() as stack:
        site, _redis = stack.enter_context(scaled_site(folder))
        conductors = [site.start_conductor() for _ in range(conducting)]
        webs = site.start_web(web)
        referees = [site.start_referee(one) for one in webs]
        leagues = [f"scale_{number}" for number in range(count)]
        for league in leagues:
            webs[0].post("/leagues", {"league_id": league}, status=201)
        # The agents of each league have paths of their own at one port, so no agent is in two matches at once.
        webs[0].post("/gateways", {"host": "127.0.0.1"})
        agents = Process(
            "players",
            folder / "players.log",
            *("-m", "tests.bench.speakers", "--site", webs[0].url, "--count", str(players)),
            *(f"{league}=plain{number}" for number, league in enumerate(leagues)),
        )
        stack.callback(agents.stop)
        wait_for("the players have registered", lambda: agents.says("READY"))

        site.wait_for_referees(webs[0], web)
        groups = {
            "web": [one.process.pid for one in webs],
            **{f"conductor {n}": [one.process.pid] for n, one in enumerate(conductors, 1)},
            "referees": [one.process.pid for one in referees],
        }

        def cpu() -> dict[str, float]:
            now = {name: sum(map(used_s, pids)) for name, pids in groups.items()}
            return now | {"players": agents.cpu_s(), "machine": machine_s()}

        before, begun = cpu(), time.perf_counter()
        for league in leagues:
            webs[0].post(f"/leagues/{league}/start", {"auto_advance": True})
        with psycopg.connect(site.environment["DATABASE_URL"], autocommit=True) as database:

            def over() -> bool:
                sql = "SELECT count(*) FROM matches_league WHERE league_id LIKE 'scale%' AND state != 'COMPLETED'"
                return database.execute(sql).fetchone() == (0,)

            wait_for("the leagues are over", over, LIMIT_S)
            wall = time.perf_counter() - begun
            used = {name: value - before[name] for name, value in cpu().items()}
            not_at_once = database.execute(
                "SELECT league_id, match_id, attempt, status FROM matches_match WHERE league_id LIKE 'scale%' "
                "AND (attempt != 1 OR status NOT IN ('WIN', 'DRAW'))"
            ).fetchall()
            why = database.execute("SELECT data FROM matches_event WHERE kind = 'attempt_lost'").fetchall()
        if not_at_once:
            raise RuntimeError(f"matches that were not won or drawn in their first attempt: {not_at_once}; {why}")
    matches = count * players * (players - 1) // 2
    return {
        "who": f"{web} web, {conducting} conductor{'s' * (conducting > 1)}, {count} leagues",
        "wall_s": wall,
        "matches_per_s": matches / wall,
        "busy": used["machine"] / wall,
        "ms": {name: 1000 * value / matches for name, value in used.items()},
    }


def main() -> int:
    """Measure and print the curve; returns the exit code."""
    parser = command_line("scale", __doc__)
    parser.add_argument("--players", type=within(2, 100), default=PLAYERS, help="2 to 100")
    parser.add_argument("--more-leagues", action="store_true", help="only the runs of ten leagues")
    options = parser.parse_args()
    runs = []
    for web, conducting, count in RUNS:
        if options.more_leagues and count != MORE_LEAGUES:
            continue
        with scratch() as folder:
            try:
                runs.append(play(folder, web, conducting, count, options.players))
            except pytest.skip.Exception as missing:
                print(f"not measured: {missing}")
                return 0
    cores = os.cpu_count() or 1
    max_rate = max(one["matches_per_s"] for one in runs)
    print(f"{'':{WHO_CHARS}}   matches/s   cores in use")
    for one in runs:
        bar = "#" * round(BAR_CHARS * one["matches_per_s"] / max_rate)
        print(f"{one['who']:{WHO_CHARS}}   {one['matches_per_s']:9.1f}   {one['busy']:.2f} of {cores}   {bar}")
    for one in runs:
        ms = ", ".join(f"{name} {value:.1f}" for name, value in one["ms"].items())
        busiest = max(value for name, value in one["ms"].items() if name.startswith("conductor"))
        print(
            f"  {one['who']}: processor in ms per match: {ms}; a core for the busiest conductor: {1000 / busiest:.0f}/s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
