"""What hostile agents cost the others in the same referee: all behaviours at once, beside matches that behave.

The bench is the league manager: it gives matches to the ordinary referee worker and takes its reports. Agents that
behave note when they were called; the time from one call of a match to the next is the referee's (they answer at once).
Three spells in one run: alone, in hostile company, alone again. Prints p50 and p99 of each and the referee's memory.
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

CANARIES = 4
"""Matches of agents that behave, always in play."""
TIMES = 1
ROOM = 48
"""Hostile matches at once; a referee has 32 unless it is told otherwise, and 64 at most."""
SPELL_S = 8.0
RULES = {"join_timeout_s": 3, "move_timeout_s": 3, "max_retries": 1, "retry_base_s": 0.5}
MOST_MS = 100.0


async def keep_playing(bench: LoneReferee, first: str, second: str, until: float) -> None:
    """One match of agents that behave after the other."""
    while time.monotonic() < until:
        await bench.play(first, second, **RULES)


def delays_ms(calls: list[tuple[float, str, str]], begin: float, finish: float) -> list[float]:
    """From the first call of a step of a match to the first call of its next one, within a spell."""
    steps: dict[str, dict[str, float]] = defaultdict(dict)
    for at, method, match in sorted(calls):
        steps[match].setdefault(method, at)
    found = []
    for one in steps.values():
        times = sorted(one.values())
        found += [(b - a) * 1000 for a, b in itertools.pairwise(times) if begin <= a < finish]
    return found


async def invited(bench: LoneReferee, url: str, partner: str, kind: str, after_s: float) -> None:
    """One match of a hostile agent after a while, as soon as the referee has room for it."""
    await asyncio.sleep(after_s)
    async with bench.room:
        await bench.play(url, partner, kind, **RULES)


async def measure(folder: Path) -> dict[str, Any]:
    """The three spells."""
    good = child("-m", "tests.bots.hostile", "--good", str(2 * CANARIES))
    bad = child("-m", "tests.bots.hostile", "--times", str(TIMES))
    partners = child("-m", "tests.bots.hostile", "--good", "1")
    try:
        behaved = [url for _, url in json.loads(good.stdout.readline())["agents"]]  # type: ignore[union-attr]
        hostile = json.loads(bad.stdout.readline())["agents"]  # type: ignore[union-attr]
        [(_, partner)] = json.loads(partners.stdout.readline())["agents"]  # type: ignore[union-attr]
        async with refereed(folder / "referee.log", room=ROOM) as bench:
            spells: list[tuple[str, float, float]] = []
            memory = [bench.memory_mb()]
            for name in ("alone before", "in hostile company", "alone after"):
                begin = time.monotonic()
                canaries = [
                    asyncio.create_task(keep_playing(bench, one, other, begin + SPELL_S))
                    for one, other in zip(behaved[::2], behaved[1::2], strict=True)
                ]
                guests = hostile if name == "in hostile company" else []
                company = asyncio.gather(
                    *(
                        # One after the other: so many matches at one moment are a burst, whoever plays them.
                        invited(bench, url, partner, kind, number * SPELL_S / len(guests) / 2)
                        for number, (kind, url) in enumerate(guests)
                    )
                )
                while not all(one.done() for one in (*canaries, company)):
                    memory.append(bench.memory_mb())
                    await asyncio.sleep(0.1)
                await asyncio.gather(*canaries, company)
                spells.append((name, begin, begin + SPELL_S))
            memory.append(bench.memory_mb())
            statuses = {kind: bench.league.results.get(match, {}).get("status") for match, kind in bench.kinds.items()}
            given_back = [one.get("why") for one in bench.league.given_back]
    finally:
        said = [end(process) for process in (good, bad, partners)]
    calls = [tuple(one) for one in json.loads(said[0])["calls"]]
    return {
        "spells": {name: delays_ms(calls, begin, finish) for name, begin, finish in spells},
        "memory_mb": memory,
        "statuses": statuses,
        "given_back": given_back,
        "led_inside": json.loads(said[1])["led_inside"],
    }


def main() -> int:
    """Measure and print; 1 when the others were delayed too much."""
    command_line("hostile", __doc__).parse_args()
    with scratch() as folder:
        found = asyncio.run(measure(folder))
    p99 = {}
    for name, delays in found["spells"].items():
        ms = percentiles(delays)
        p99[name] = ms["p99"]
        print(f"{name:<20} {len(delays)} calls {in_words(ms)}")
    more = p99["in hostile company"] - min(p99["alone before"], p99["alone after"])
    print(f"{len(HOSTILE) * TIMES} hostile matches delay the others by {more:.1f} ms at p99 (at most {MOST_MS:g})")
    memory = found["memory_mb"]
    print(f"memory of the referee  {memory[0]:.0f} MB before, {max(memory):.0f} MB at most, {memory[-1]:.0f} MB after")
    print(f"given back {len(found['given_back'])}, led inside {found['led_inside']}")
    return 0 if more <= MOST_MS else 1


if __name__ == "__main__":
    sys.exit(main())
