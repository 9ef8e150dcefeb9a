"""What many live drawings cost: sixty matches of Connect Four at once, about thirty moves a second.

``python -m tests.bench.drawings``. The league's screen and its board are open. It prints how many cores the site, its
referees and the players keep busy meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import aiohttp

from tests.bench.part import ACK, command_line, scratch, sockets, within
from tests.bench.processes import Bench

LEAGUE = "drawings"
PLAYERS = 120
MOVES_PER_S = 30
BEGIN_S = 5.0
"""From the first move until the measurement begins: all matches are in play by then."""


class Watched:
    """The frames that the pages received."""

    def __init__(self) -> None:
        self.frames = 0
        self.bytes = 0
        self.pages: set[str] = set()
        """The pages that have received a frame."""

    async def watch(self, session: aiohttp.ClientSession, url: str) -> None:
        """Look at one page, as a browser does."""
        async with session.ws_connect(url, max_msg_size=0) as socket:
            async for message in socket:
                if not isinstance(message.data, bytes):
                    continue
                await socket.send_str(ACK)
                self.pages.add(url)
                self.frames += 1
                self.bytes += len(message.data)


async def observe(bench: Bench, seconds: float) -> dict[str, Any]:
    """Start the league and measure it for some seconds; returns the figures."""
    watched = Watched()
    pages = [f"{bench.url}/ws/leagues/{LEAGUE}/{page}?packed=gzip" for page in ("screen/", "")]
    async with sockets(bench.url, [partial(watched.watch, url=url) for url in pages], lambda: len(watched.pages) == 2):
        await asyncio.to_thread(bench.post, f"/leagues/{LEAGUE}/start")
        await bench.until("SELECT count(*) > 0 FROM matches_match WHERE moves != '[]'", row=(1,), limit_s=60)
        await asyncio.sleep(BEGIN_S)
        frames, size = watched.frames, watched.bytes
        begun, cpu, moves = time.perf_counter(), bench.cpu_s(), _moves(bench)
        await asyncio.sleep(seconds)
        took, used = time.perf_counter() - begun, bench.used_s(cpu)
        return {
            "cores": {name: value / took for name, value in used.items()},
            "moves_per_s": (_moves(bench) - moves) / took,
            "frames_per_s": (watched.frames - frames) / took,
            "kB": (watched.bytes - size) / max(1, watched.frames - frames) / 1000,
        }


def _moves(bench: Bench) -> int:
    [(moves,)] = bench.rows("SELECT sum(json_array_length(moves)) FROM matches_match")
    return int(moves)


def measure(seconds: float) -> dict[str, Any]:
    """Start site and players, and measure; returns the figures."""
    with scratch() as folder:
        bench = Bench(folder, PLAYERS)
        try:
            bench.start_site(matches_at_once=64)
            bench.create(LEAGUE, "connect_four", move_timeout_s=30)
            bench.start_thinkers(LEAGUE, think_s=PLAYERS / 2 / MOVES_PER_S)
            return asyncio.run(observe(bench, seconds))
        finally:
            bench.stop()


def main() -> None:
    """Measure and print."""
    parser = command_line("drawings", __doc__)
    parser.add_argument("--seconds", type=within(1, 60), default=15, help="1 to 60")
    measured = measure(parser.parse_args().seconds)
    cores = measured["cores"]
    print(f"{PLAYERS // 2} matches, {measured['moves_per_s']:.1f} moves a second")
    print(f"  frames                  {measured['frames_per_s']:8.1f} a second, both pages; {measured['kB']:.1f} kB")
    words = ", ".join(f"{name} {value:.2f}" for name, value in cores.items())
    print(f"  cores in use            {sum(cores.values()):8.2f} ({words})")


if __name__ == "__main__":
    main()
