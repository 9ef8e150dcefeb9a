"""Run bots: ``python -m tests.bots.zoo --league http://127.0.0.1:8000/mcp --log-folder logs --bots all``.

Prints one line for each bot, ``READY <name> <endpoint> <player_id or ->`` or ``UNREGISTERED <name> <endpoint> <why>``,
and ``ALL`` when each has its line. One bot may be run alone as ``--bots NAME --log FILE --port N``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.mixed import SEED, mixtures
from tests.bots.zoo.serving import Serving


def watch_parent(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """End when stdin ends: a parent that was killed with -9 closes its end of the pipe."""

    def read() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=read, daemon=True).start()


async def main(options: argparse.Namespace) -> int:
    """Register the bots one after the other, serve until told to stop; 1 when one is not registered."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.exit_with_parent:
        watch_parent(stop, loop)
    known = BOTS | mixtures(options.seed, options.mixtures)
    names = list(known) if options.bots == "all" else options.bots.split(",")
    serving = [
        Serving(
            known[name],
            league=options.league,
            log=options.log or options.log_folder / f"{name}.jsonl",
            port=options.port,
            referee_port=options.referee_port,
        )
        for name in names
    ]
    missing = 0
    for one in serving:
        line = await one.start()
        missing += not line.startswith("READY")
        print(line, flush=True)
    print("ALL", flush=True)
    await stop.wait()
    for one in serving:
        await one.stop()
    return 1 if missing else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Agents that speak as students' agents do.")
    parser.add_argument("--league", required=True, help="the league manager's /mcp address")
    parser.add_argument("--bots", default="all", help="names, separated by commas; default: all")
    parser.add_argument("--mixtures", type=int, default=12, help="how many mixed ones there are")
    parser.add_argument("--seed", type=int, default=SEED, help="of the mixed ones")
    parser.add_argument("--log-folder", type=Path, default=Path())
    parser.add_argument("--log", type=Path, help="for one bot: its log")
    parser.add_argument("--port", type=int, default=0, help="for one bot: its port; 0 picks a free one")
    parser.add_argument("--referee-port", type=int, default=8001, help="the first referee's")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when stdin ends")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parse(sys.argv[1:]))))
