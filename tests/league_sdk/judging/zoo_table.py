"""The table of ``docs/dialects.md``: how many agents of the zoo understand each shape, and how soon it is found.

``python -m tests.league_sdk.judging.zoo_table`` prints it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from league_sdk.dialects.shapes import SHAPES
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.registering import Chapter8
from tests.league_sdk.judging.zoo_match import meet, ready

ASKED = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER")


@dataclass
class Counts:
    """The counts of the table.

    Attributes:
        answered: for each shape and message type, how many agents understood the message in this shape.
        requests: for each number of requests, how many agents needed that many until they understood the invitation;
            0 counts those that never did.
    """

    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    requests: Counter[int] = field(default_factory=Counter)


async def count() -> Counts:
    """Play one match with each agent of the zoo."""
    counts = Counts()
    for kind in BOTS.values():
        arena, (bot, other) = meet(kind, Chapter8)
        seat = arena.seat(bot, "PLAYER_A", **ready(bot))
        await arena.play(seat, arena.seat(other, "PLAYER_B"))
        spoken = arena.caller.spoken(seat)
        counts.answered.update((spoken[kind], kind) for kind in ASKED if kind in spoken)
        # ``reply.kind`` is what the bot took the request for.
        invited = [n for n, one in enumerate(arena.messages_to(bot), 1) if one.reply.kind == ASKED[0]]
        counts.requests[invited[0] if invited else 0] += 1
    return counts


def table(counts: Counts) -> str:
    """The counts in Markdown."""
    lines = ["| shape | invitation | choice | end of a match |", "|---|---|---|---|"]
    for shape in SHAPES:
        numbers = [counts.answered[shape, kind] for kind in ASKED]
        if any(numbers):
            lines.append(f"| `{shape}` | {' | '.join(map(str, numbers))} |")
    lines += ["", "| requests until the first invitation was understood | agents |", "|---|---|"]
    within = {"1": (1, 1), "2 to 6": (2, 6), "7 to 30": (7, 30), "none is understood": (0, 0)}
    for label, (minimum, maximum) in within.items():
        lines.append(f"| {label} | {sum(n for number, n in counts.requests.items() if minimum <= number <= maximum)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(asyncio.run(count())))
