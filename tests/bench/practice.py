"""What practice matches cost a league that is being played: ``python -m tests.bench.practice``.

A league of thirty is played on a fresh site of its own with no practice match, then with one and two at a time, each
against the house agent that thinks longest (Connect Four, hard), in a process of its own and, for comparison, in a
thread of the site. A site lets one run at a time while a round is played, whoever asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import runpy
import statistics
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from league_sdk.player import Player, PlayerServer
from league_sdk.strategies.careful import Careful
from leaguesite.environment import export_data_folder
from tests import wire
from tests.bench import __main__ as bench_of_a_league
from tests.bench.audience import Audience
from tests.bench.part import command_line, percentiles, scratch, within
from tests.bench.processes import LEAGUE, Bench, Process

NEXT = "next"
SPARRING = 10
"""Agents that practise; each may ten times in ten minutes."""
MODES = {"none": (0, False), "one": (1, False), "two": (2, False), "one thread": (1, True), "two threads": (2, True)}
"""How many practice matches run at a time, and whether the house agents think in threads of the site."""
AIM_P99 = 1.5
"""How many times as long the p99 of reports may be while one practice match runs."""


def be_host(limit: int, *, threads: bool) -> None:
    """Run ``manage.py`` with at most ``limit`` practice matches during a round, and house agents in threads or not."""
    export_data_folder(sys.argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
    import django  # noqa: PLC0415 - only this process is the site

    django.setup()
    from league_sdk.conformance.house import House  # noqa: PLC0415
    from matches.checks import performing, turns  # noqa: PLC0415

    turns.MAX_PRACTICES_DURING_ROUND = limit
    if threads:
        performing.HouseApart = House  # type: ignore[misc,assignment]
    sys.argv = ["manage.py", *sys.argv[3:]]
    runpy.run_path("manage.py", run_name="__main__")


class PracticeBench(Bench):
    """A bench whose host lets ``limit`` practice matches, but at least one, run at once while a round is played."""

    def __init__(self, folder: Path, players: int, limit: int, *, threads: bool) -> None:
        super().__init__(folder, players)
        self._host_options = (str(max(limit, 1)), "threads" if threads else "apart")

    def _run(self, name: str, *command: str, **environment: str) -> Process:
        if command[0] == "manage.py":
            limit, thinking = self._host_options
            command = (
                "-c",
                f"from tests.bench.practice import be_host; be_host({limit}, threads={thinking == 'threads'})",
                *self._host_options,
                *command[1:],
            )
        return super()._run(name, *command, **environment)


@contextlib.asynccontextmanager
async def sparring(bench: Bench, count: int) -> AsyncIterator[list[int]]:
    """Keep ``count`` practice matches running until the block ends; the list gets an item for each that ended."""
    await asyncio.to_thread(bench.create, NEXT, "connect_four")
    servers, tokens = [], []
    async with httpx.AsyncClient(base_url=bench.url, timeout=30) as client:
        for number in range(SPARRING):
            name = f"Spar {number}"
            player = Player(name, Careful(), game_types=("connect_four",))
            servers.append(PlayerServer({"/mcp": player}))
            port = await servers[-1].start("127.0.0.1", 0)
            request = wire.player_request(
                name, port=port, sender=f"player:{name}", games=["connect_four"], league_id=NEXT
            )
            answer = await client.post("/mcp", json=wire.request("register_player", request))
            player.accept(answer.json()["result"])
            tokens.append(player.auth_token)
        ended: list[int] = []
        tasks = [asyncio.create_task(_keep_practising(client, tokens[n::count], ended)) for n in range(count)]
        try:
            yield ended
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(server.stop() for server in servers))


async def _keep_practising(client: httpx.AsyncClient, tokens: list[str], ended: list[int]) -> None:
    while True:
        for token in tokens:
            reply = await client.post("/api/practice", json={"auth_token": token, "opponent": "hard", "second": True})
            practice = reply.json()
            while practice["state"] in ("WANTED", "RUNNING"):
                await asyncio.sleep(0.1)
                practice = (await client.get(f"/api/practice/{practice['practice_id']}")).json()
            if practice["state"] != "DONE" or practice["report"]["status"] not in ("WIN", "DRAW", "LOSS"):
                raise RuntimeError(practice)
            ended.append(len(practice["report"]["steps"]))


async def measure(folder: Path, players: int, mode: str) -> dict[str, Any]:
    """Play the league beside practice matches; returns the league's figures."""
    count, threads = MODES[mode]
    bench = PracticeBench(folder, players, count, threads=threads)
    try:
        await asyncio.to_thread(bench.start)
        async with contextlib.AsyncExitStack() as stack:
            ended = await stack.enter_async_context(sparring(bench, count)) if count else []
            if count:
                async with asyncio.timeout(60):
                    while not ended:  # noqa: ASYNC110 - other tasks make it true
                        await asyncio.sleep(0.1)
            before = len(ended)
            figures = await bench_of_a_league.play(bench, Audience(0), LEAGUE)
            figures["practices"] = len(ended) - before
        await asyncio.to_thread(bench.stop_site)
        figures["report_ms"] = percentiles(bench.calls_ms("report_match_result"))
        figures["progress_ms"] = percentiles(bench.calls_ms("report_progress"))
        return figures
    finally:
        await asyncio.to_thread(bench.stop)


def main() -> int:
    """Measure each mode some times, in turn, and print the medians; returns the exit code, 1 if AIM_P99 is missed."""
    parser = command_line("practice", __doc__)
    parser.add_argument("--players", type=within(2, 100), default=30)
    parser.add_argument("--times", type=within(1, 20), default=3)
    options = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
    for _ in range(options.times):
        for mode in MODES:
            with scratch() as folder:
                found[mode].append(asyncio.run(measure(folder, options.players, mode)))
    p99 = {}
    for mode, runs in found.items():
        p50, p99[mode] = (statistics.median(one["report_ms"][name] for one in runs) for name in ("p50", "p99"))
        host = statistics.median(one["cpu_s"]["host"] for one in runs)
        wall = statistics.median(one["wall_s"] for one in runs)
        ended = statistics.median(one["practices"] for one in runs)
        print(f"{mode:12} reports p50 {p50:6.1f} ms, p99 {p99[mode]:6.1f} ms; league {wall:5.1f} s,", end=" ")
        print(f"in which host and house agents used {host:4.1f} s of the processor; {ended:.0f} practice matches ended")
    return 0 if p99["one"] <= p99["none"] * AIM_P99 else 1


if __name__ == "__main__":
    sys.exit(main())
