"""Every bot of the zoo plays with the referee's own code: nobody is configured, and nobody loses for how it speaks."""

from __future__ import annotations

import pytest

from tests.bots.zoo.base import Bot
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.mixed import mixtures
from tests.bots.zoo.registering import Chapter8
from tests.league_sdk.judging.zoo_match import Arena, meet, ready
from tests.sizes import sampled

ALL = BOTS | mixtures()
ROUNDS = 3


async def played(kind: type[Bot]) -> tuple[Arena, Bot, list[str]]:
    """Some matches against an agent of 004 chapter 8; the faults of the bot."""
    arena, (bot, other) = meet(kind, Chapter8)
    lost = []
    for number in range(1, ROUNDS + 1):
        verdict, _ = await arena.play(
            arena.seat(bot, "PLAYER_A", **ready(bot)), arena.seat(other, "PLAYER_B"), number=number
        )
        lost += [f"{one.error_code} {one.message_type} {one.detail}" for one in verdict.faults]
    return arena, bot, lost


def understood(arena: Arena, bot: Bot) -> str:
    """What the bot was asked and how it understood it, for the error message."""
    lines = [
        f"{str(one.body)[:200]}\n   {one.reply.verdict} -> {str(one.reply.body)[:160]}"
        for one in arena.messages_to(bot)
    ]
    return f"{bot.__doc__}\n" + "\n".join(lines[:30])


@pytest.mark.parametrize("name", sampled(ALL))
async def test_a_bot_is_played_without_a_fault_and_is_told_the_end(name: str) -> None:
    arena, bot, lost = await played(ALL[name])
    assert lost == [], understood(arena, bot)
    assert len(arena.messages_to(bot, "GAME_OVER")) == ROUNDS, understood(arena, bot)
