"""``python -m tests.bots.hostile``: runs hostile agents until standard input ends; lists them in one JSON line.

Runs every hostile behaviour, or those named; ``--times N``: N agents of each. With ``--good N`` it runs N agents that
behave well instead. At the end it prints one JSON line: when each of these was called, how many agents were told the
end of a match, and how many calls reached the agent that stands for an inner address.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import Any

from tests.bots.base import Call, Talk, ending
from tests.bots.hostile.base import OVER, Agent
from tests.bots.hostile.cast import HOSTILE


class Timed(Agent):
    """An agent that behaves well and notes the time of every call."""

    def __init__(self, calls: list[tuple[float, str, str]]) -> None:
        super().__init__()
        self._calls = calls

    async def _answer(self, talk: Talk, call: Call) -> None:
        called_at = time.monotonic()
        await super()._answer(talk, call)
        self._calls.append((called_at, call.method, str(call.params.get("match_id"))))


async def main(options: argparse.Namespace) -> None:
    """Serve until standard input ends."""
    stop, calls = ending(with_parent=True), list[tuple[float, str, str]]()
    inner = Agent()
    agents: list[Agent] = [Agent(HOSTILE[name]) for name in options.names for _ in range(options.times)]
    if options.good:
        agents = [Timed(calls) for _ in range(options.good)]
    for agent in (*agents, inner):
        await agent.start()
        agent.inner = inner.url
    listing: dict[str, Any] = {
        "agents": [(agent.behaviour.name if agent.behaviour else "", agent.url) for agent in agents]
    }
    print(json.dumps(listing), flush=True)
    await stop.wait()
    for agent in (*agents, inner):
        await agent.stop()
    players_with_an_end = sum(agent.methods.count(OVER) > 0 for agent in agents)
    print(json.dumps({"calls": calls, "told_the_end": players_with_an_end, "led_inside": len(inner.methods)}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--good", type=int, default=0)
    parser.add_argument("names", nargs="*", default=list(HOSTILE))
    asyncio.run(main(parser.parse_args()))
