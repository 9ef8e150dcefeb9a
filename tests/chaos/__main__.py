"""``python -m tests.chaos``: plays leagues while the site's processes are killed, and reports each broken promise."""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.episode import PROMISED_S
from tests.chaos.run import Run
from tests.chaos.servers import NotInstalled
from tests.chaos.sites import SCALED, SQLITE

DEFAULT_KILLS = 1000
_PROGRAM = "python -m tests.chaos"


def main() -> int:
    """Returns 0: every promise was kept; 1: one was broken; 2: a program that is needed is missing."""
    options = _parse()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    modes = [SQLITE, SCALED] if options.mode == "both" else [options.mode]
    violations = 0
    # SIGTERM acts like Ctrl-C, so that the processes that were started are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for mode in modes:
        folder = Path(tempfile.mkdtemp(prefix=f"chaos-{mode}-"))
        kills = options.kills // len(modes)
        started_at = time.monotonic()
        print(f"\n{mode}: {kills} kills, seed {seed}, in {folder}", flush=True)
        try:
            summary = asyncio.run(Run(folder, mode, seed=seed, kills=kills, say=_say, within_s=options.within).play())
        except NotInstalled as missing:
            print(f"{mode} cannot be played here: {missing}")
            shutil.rmtree(folder)
            return 2
        print(summary.text())
        within = "" if options.within == PROMISED_S else f" --within {options.within:g}"
        command = f"{_PROGRAM} --mode {mode} --kills {kills} --seed {seed}{within}"
        print(f"in {time.monotonic() - started_at:.0f} s; repeat: {command}")
        violations += len(summary.violations)
        if summary.violations or options.keep:
            print(f"logs and journal are kept in {folder}")
        else:
            shutil.rmtree(folder)
    return 1 if violations else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Plays leagues while a seeded plan kills, stops and delays the site's processes and cuts lines, "
        "then checks from the database and the players' own records whether every promise was kept (docs/chaos.md).",
    )
    parser.add_argument(
        "--kills",
        type=int,
        default=DEFAULT_KILLS,
        help="how many processes and servers are killed in all (default 1000)",
    )
    parser.add_argument("--seed", type=int, help="repeats the plan of an earlier run; default: a new one")
    parser.add_argument(
        "--mode",
        choices=[SQLITE, SCALED, "both"],
        default="both",
        help="sqlite: manage.py host; scaled: PostgreSQL, Redis, two web processes, two conductors; "
        "both (default): half of the kills each",
    )
    parser.add_argument(
        "--within",
        type=float,
        default=PROMISED_S,
        help="seconds in which leagues go on after the last fault (default 15, as promised; more on a machine that has "
        "other things to do)",
    )
    parser.add_argument("--keep", action="store_true", help="keep logs and journal also when nothing was violated")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
