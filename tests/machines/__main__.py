"""``python -m tests.machines``: leagues on machines that fail, and a table of what that did to them."""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import time

from tests.chaos.servers import NotInstalled
from tests.machines.faults import SHORT, every_fault
from tests.machines.run import run


def main() -> int:
    """Returns 0: all was as promised; 1: something was not; 2: something that is needed is missing."""
    options = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    every = every_fault(options.lasts)
    faults = [one for one in every if one.name in SHORT] if options.short else every
    faults = [one for one in faults if options.only in one.name]
    if options.random:
        faults = random.Random(options.seed).choices(faults, k=options.random)
    print(f"seed {options.seed}, {len(faults)} faults", flush=True)
    try:
        reports = asyncio.run(run(faults, seed=options.seed, say=_say))
    except NotInstalled as missing:
        print(f"machines cannot be made here: {missing}")
        return 2
    broken = sum(bool(one.broken) for one in reports)
    print(f"{len(reports)} faults, {broken} not as promised, in {time.monotonic() - begun:.0f} s")
    return 1 if broken else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.machines", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--short", action="store_true", help="only the faults that .ci/run tries")
    parser.add_argument("--only", default="", metavar="WORDS", help="only faults with these words in their name")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N faults, drawn by the seed")
    parser.add_argument("--lasts", type=float, default=12.0, metavar="SECONDS", help="how long a fault lasts (12)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
