"""How much hostile agents delay the well-behaved agents of the same referee.

The bench is the league manager: it gives matches to the ordinary referee and takes its reports. The
well-behaved agents answer at once and note when they were called, so the time between two calls of a match is the
referee's.
One run has three phases: without hostile agents, with them, without them again. Prints p50 and p99 of each phase, and
the referee's memory.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.bench.part import command_line, in_words, percentiles, scratch
from tests.bots.hostile.cast import HOSTILE
from tests.e2e.lone_referee import LoneReferee, child, end, refereed

GOOD_MATCHES = 4
"""How many matches of well-behaved agents are in play at every moment."""
TIMES = 1
"""How many matches each hostile behaviour plays."""
MAX_HOSTILE = 48
"""Hostile matches at once; this bench's referee takes 64 matches in all."""
PHASE_S = 8.0
RULES = {"join_timeout_s": 3, "move_timeout_s": 3, "max_retries": 1, "retry_base_s": 0.5}
MAX_DELAY_MS = 100.0


async def keep_playing(bench: LoneReferee, first: str, second: str, until: float) -> None:
    """Let two well-behaved agents play one match after the other until a time on the monotonic clock."""
    while time.monotonic() < until:
        await bench.play(first, second, **RULES)


def delays_ms(calls: list[tuple[float, str, str]], begin: float, finish: float) -> list[float]:
    """Milliseconds from the first call of each step of a match to the first call of the next step, within a phase."""
    steps: dict[str, dict[str, float]] = defaultdict(dict)
    for at, method, match in sorted(calls):
        steps[match].setdefault(method, at)
    delays = []
    for one in steps.values():
        times = sorted(one.values())
        delays += [(b - a) * 1000 for a, b in itertools.pairwise(times) if begin <= a < finish]
    return delays


async def play_later(bench: LoneReferee, url: str, partner: str, behaviour: str, after_s: float) -> None:
    """Wait for ``after_s``, then let a hostile agent play one match as soon as the referee has room for it."""
    await asyncio.sleep(after_s)
    async with bench.room:
        await bench.play(url, partner, behaviour, **RULES)


async def measure(folder: Path) -> dict[str, Any]:
    """Play the three phases; returns what was measured in them."""
    good = child("-m", "tests.bots.hostile", "--good", str(2 * GOOD_MATCHES))
    bad = child("-m", "tests.bots.hostile", "--times", str(TIMES))
    partners = child("-m", "tests.bots.hostile", "--good", "1")
    try:
        behaved = [url for _, url in json.loads(good.stdout.readline())["agents"]]  # type: ignore[union-attr]
        hostile = json.loads(bad.stdout.readline())["agents"]  # type: ignore[union-attr]
        [(_, partner)] = json.loads(partners.stdout.readline())["agents"]  # type: ignore[union-attr]
        async with refereed(folder / "referee.log", max_matches=MAX_HOSTILE) as bench:
            phases: list[tuple[str, float, float]] = []
            memory = [bench.memory_mb()]
            for name in ("before", "with hostile agents", "after"):
                begin = time.monotonic()
                good_matches = [
                    asyncio.create_task(keep_playing(bench, one, other, begin + PHASE_S))
                    for one, other in zip(behaved[::2], behaved[1::2], strict=True)
                ]
                hostile_now = hostile if name == "with hostile agents" else []
                hostile_matches = asyncio.gather(
                    *(
                        # Begun one after the other: a burst of matches would delay the others even if all behaved well.
                        play_later(bench, url, partner, behaviour, number * PHASE_S / len(hostile_now) / 2)
                        for number, (behaviour, url) in enumerate(hostile_now)
                    )
                )
                while not all(one.done() for one in (*good_matches, hostile_matches)):
                    memory.append(bench.memory_mb())
                    await asyncio.sleep(0.1)
                await asyncio.gather(*good_matches, hostile_matches)
                phases.append((name, begin, begin + PHASE_S))
            memory.append(bench.memory_mb())
            results, labels = bench.league.results, bench.labels
            statuses = {behaviour: results.get(match, {}).get("status") for match, behaviour in labels.items()}
            handed_back = [one.get("why") for one in bench.league.handed_back]
    finally:
        outputs = [end(process) for process in (good, bad, partners)]
    calls = [tuple(one) for one in json.loads(outputs[0])["calls"]]
    return {
        "phases": {name: delays_ms(calls, begin, finish) for name, begin, finish in phases},
        "memory_mb": memory,
        "statuses": statuses,
        "handed_back": handed_back,
        "led_inside": json.loads(outputs[1])["led_inside"],
    }


def main() -> int:
    """Measure and print; returns the exit code: 1 if the delay of well-behaved agents exceeds MAX_DELAY_MS."""
    command_line("hostile", __doc__).parse_args()
    with scratch() as folder:
        measured = asyncio.run(measure(folder))
    p99 = {}
    for name, delays in measured["phases"].items():
        ms = percentiles(delays)
        p99[name] = ms["p99"]
        print(f"{name:<20} {len(delays)} delays {in_words(ms)}")
    more = p99["with hostile agents"] - min(p99["before"], p99["after"])
    print(f"{len(HOSTILE) * TIMES} hostile matches delay the others by {more:.1f} ms at p99 (at most {MAX_DELAY_MS:g})")
    memory = measured["memory_mb"]
    print(f"memory of the referee  {memory[0]:.0f} MB before, {max(memory):.0f} MB at most, {memory[-1]:.0f} MB after")
    print(f"matches handed back {len(measured['handed_back'])}, calls led to an inner address {measured['led_inside']}")
    return 0 if more <= MAX_DELAY_MS else 1


if __name__ == "__main__":
    sys.exit(main())
