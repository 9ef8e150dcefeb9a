"""Run foreign agents: ``python -m tests.bots.foreign_agents --league URL --log-folder FOLDER --bots A,B``.

Prints ``READY <name> <player id>`` or ``UNREGISTERED <name> <why>`` for each, then ``ALL``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.bots.base import options, run_bots
from tests.bots.foreign_agents.cast import FOREIGN_AGENTS

if __name__ == "__main__":
    parser = options("Agents in ways of speaking that no document describes.")
    parser.add_argument("--log-folder", type=Path, required=True)
    parser.add_argument("--bots", required=True, help="names, separated by commas")
    args = parser.parse_args()
    bots = (FOREIGN_AGENTS[name](args.league, args.log_folder / f"{name}.jsonl") for name in args.bots.split(","))
    sys.exit(asyncio.run(run_bots(bots, with_parent=args.exit_with_parent)))
