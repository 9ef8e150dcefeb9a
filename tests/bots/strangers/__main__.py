"""Run strangers: ``python -m tests.bots.strangers --league URL --log-folder FOLDER --bots A,B``.

Prints ``READY <name> <player id>`` or ``UNREGISTERED <name> <why>`` for each, then ``ALL``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.bots.base import options, perform
from tests.bots.strangers.cast import STRANGERS

if __name__ == "__main__":
    parser = options("Agents that nobody described.")
    parser.add_argument("--log-folder", type=Path, required=True)
    parser.add_argument("--bots", required=True, help="names, separated by commas")
    told = parser.parse_args()
    cast = (STRANGERS[name](told.league, told.log_folder / f"{name}.jsonl") for name in told.bots.split(","))
    sys.exit(asyncio.run(perform(cast, with_parent=told.exit_with_parent)))
