"""Run bots: ``python -m tests.bots.zoo --league http://127.0.0.1:8000/mcp --log-folder logs --bots all``.

Prints one line for each bot, ``READY <name> <endpoint> <player_id or ->`` or ``UNREGISTERED <name> <endpoint> <why>``,
and ``ALL`` after the last of them. One bot may be run alone as ``--bots NAME --log FILE --port N``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tests.bots.base import options, run_bots
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.mixed import SEED, mixtures
from tests.bots.zoo.serving import Serving


async def main(args: argparse.Namespace) -> int:
    """Register the bots and serve until stopped; returns 1 when one is not registered."""
    known = BOTS | mixtures(args.seed, args.mixtures)
    bots = [
        Serving(
            known[name],
            league=args.league,
            log=args.log or args.log_folder / f"{name}.jsonl",
            port=args.port,
            referee_port=args.referee_port,
        )
        for name in (list(known) if args.bots == "all" else args.bots.split(","))
    ]
    return await run_bots(bots, with_parent=args.exit_with_parent)


if __name__ == "__main__":
    parser = options("Agents that speak as students' agents do.")
    parser.add_argument("--bots", default="all", help="names, separated by commas; default: all")
    parser.add_argument("--mixtures", type=int, default=12, help="how many mixed bots there are")
    parser.add_argument("--seed", type=int, default=SEED, help="the seed of the mixed bots")
    parser.add_argument("--log-folder", type=Path, default=Path())
    parser.add_argument("--log", type=Path, help="for one bot: its log")
    parser.add_argument("--port", type=int, default=0, help="for one bot: its port; 0 picks a free one")
    parser.add_argument("--referee-port", type=int, default=8001, help="the port of the first referee")
    sys.exit(asyncio.run(main(parser.parse_args())))
