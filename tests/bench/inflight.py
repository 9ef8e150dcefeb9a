"""Two hundred matches at once on one referee: the time that each takes beyond the thinking of its players.

``python -m tests.bench.inflight``. Two rounds of 400 players each, on one site:

- *together*: every player thinks for one second, so all 200 end in the same moment. Overhead per match is the time from
  the start of the round to its last recorded result, less that second, divided by the matches.
- *spread*: every player thinks for 1 to 21 seconds, so about ten matches end each second and the others stay in flight.
  What ``report_match_result`` takes there is what a referee sees on the evening of a real league.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from datetime import datetime
from typing import Any

from tests.bench.part import command_line, in_words, percentiles, scratch, within
from tests.bench.processes import Bench, running

MATCHES = 200
THINK_S = 1.0
LEAGUES = {"together": "plain_1_1", "spread": "plain_1_21"}
LIMIT_S = 240.0


async def play_round(bench: Bench, league: str) -> dict[str, Any]:
    """Close a league's registration and play its first round; returns the round's figures."""
    await asyncio.to_thread(bench.post, f"/leagues/{league}/close")
    cpu, begun = bench.cpu_s(), time.time()
    await asyncio.to_thread(bench.post, f"/leagues/{league}/start")
    done = "SELECT state FROM matches_round WHERE league_id = ? AND number = 1"
    await bench.until(done, league, row=("COMPLETED",), limit_s=LIMIT_S)
    rows = bench.rows(
        "SELECT m.status, m.attempt, m.lifecycle, m.finished_at FROM matches_match m "
        "JOIN matches_round r ON r.id = m.round_id WHERE m.league_id = ? AND r.number = 1",
        league,
    )
    if any(status not in ("WIN", "DRAW") or attempt != 1 for status, attempt, _, _ in rows):
        raise RuntimeError("not every match was won or drawn in its first attempt")
    ends = [datetime.fromisoformat(f"{at}+00:00").timestamp() for *_, at in rows]
    starts = [datetime.fromisoformat(json.loads(steps)[0]["at"]).timestamp() for _, _, steps, _ in rows]
    changes = sorted([(at, 1) for at in starts] + [(at, -1) for at in ends])
    in_flight = max_in_flight = 0
    for _, change in changes:
        in_flight += change
        max_in_flight = max(max_in_flight, in_flight)
    return {
        "begun": begun,
        "ended": max(ends),
        "matches": len(rows),
        "max_in_flight": max_in_flight,
        "cpu_s": bench.used_s(cpu),
    }


def measure(matches: int) -> dict[str, Any]:
    """Play both rounds; returns the figures of each by the name of its league."""
    site = {"referees": 1, "matches_at_once": matches}
    with scratch() as folder, running(folder, 2 * matches, LEAGUES, **site) as bench:
        by_league = {league: asyncio.run(play_round(bench, league)) for league in LEAGUES}
        bench.stop_site()
        for one in by_league.values():
            # The referee may get its answer a moment after the site has recorded the result.
            since, until = one["begun"], one["ended"] + 2
            one["report_ms"] = percentiles(bench.calls_ms("report_match_result", since=since, until=until))
            one["progress_ms"] = percentiles(bench.calls_ms("report_progress", since=since, until=until))
    together = by_league["together"]
    wall = together["ended"] - together["begun"]
    together |= {"wall_s": wall, "overhead_ms": (wall - THINK_S) / together["matches"] * 1000}
    return by_league


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("inflight", __doc__)
    parser.add_argument("--matches", type=within(2, 400), default=MATCHES, help="at once; 2 to 400")
    options = parser.parse_args()
    figures = measure(options.matches)
    together = figures["together"]
    print(
        f"{together['matches']} matches at once on one referee, at most {together['max_in_flight']} in flight: "
        f"{together['wall_s']:.2f} s, overhead per match {together['overhead_ms']:.1f} ms"
    )
    for league, one in figures.items():
        cpu = ", ".join(f"{name} {1000 * value / one['matches']:.1f}" for name, value in one["cpu_s"].items())
        print(f"  {league}: at most {one['max_in_flight']} in flight; processor in ms per match: {cpu}")
        for label, key in (("report_match_result", "report_ms"), ("report_progress", "progress_ms")):
            print(f"    {label:<20}{in_words(one[key])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
