"""Run strangers: ``python -m tests.bots.strangers --league URL --log-folder FOLDER --bots A,B``.

Prints ``READY <name> <player id>`` or ``UNREGISTERED <name> <why>`` for each, then ``ALL``; ends when stdin ends.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from pathlib import Path

from tests.bots.strangers.cast import STRANGERS


async def main(options: argparse.Namespace) -> None:
    """Register them one after the other and serve until stdin ends."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=read, daemon=True).start()
    cast = [STRANGERS[name](options.league, options.log_folder / f"{name}.jsonl") for name in options.bots.split(",")]
    for one in cast:
        try:
            await one.start()
        except (AssertionError, KeyError, TypeError) as failure:
            print(f"UNREGISTERED {one.name} {failure!r}".replace("\n", " "), flush=True)
        else:
            print(f"READY {one.name} {one.player_id}", flush=True)
    print("ALL", flush=True)
    await stop.wait()
    for one in cast:
        await one.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Agents that nobody described.")
    parser.add_argument("--league", required=True, help="the league manager's /mcp address")
    parser.add_argument("--log-folder", type=Path, required=True)
    parser.add_argument("--bots", required=True, help="names, separated by commas")
    asyncio.run(main(parser.parse_args(sys.argv[1:])))
