"""Mutants, which are bots of the zoo with one random detail changed: at least nine of the ten of a seed are played."""

from __future__ import annotations

import random
import secrets

import pytest

from agents_registry.models import Kind
from agents_registry.requests.reading import read_request
from league_sdk.dialects import inbound
from league_sdk.protocol.errors import LeagueError
from tests.bots.zoo import entries
from tests.bots.zoo.base import Bot
from tests.bots.zoo.mutations import COUNT, SEED, mutants
from tests.bots.zoo.registering import Chapter8
from tests.league_sdk.judging.zoo_match import meet, ready
from tests.sizes import sampled

MIN_PLAYED = 9


def registers(bot: Bot) -> bool:
    """Whether the league manager can read its registration: a name, and where it listens."""
    if bot.enters in (entries.never, entries.handshake, entries.handshake_in_order, entries.asks_for_lists):
        return True
    post = next(bot.enters(bot.applicant()))
    incoming = inbound.read(post.body, register=post.at == "register")
    try:
        request = read_request(incoming.message, kind=Kind.PLAYER, caller="127.0.0.1")
    except LeagueError:
        return False
    return f":{bot.port}" in request.endpoint


async def failures(kind: type[Bot]) -> list[str]:
    """Why a bot was not played, in two matches."""
    arena, (bot, other) = meet(kind, Chapter8)
    if not registers(bot):
        return ["it could not register"]
    lost = []
    for number in (1, 2):
        verdict, _ = await arena.play(
            arena.seat(bot, "PLAYER_A", **ready(bot)), arena.seat(other, "PLAYER_B"), number=number
        )
        lost += [f"{one.error_code} {one.message_type} {one.detail}" for one in verdict.faults]
    return lost


async def not_played(seed: int) -> list[str]:
    return [f"{kind.__doc__} {lost}" for kind in mutants(seed).values() if (lost := await failures(kind))]


@pytest.mark.parametrize("seed", sampled([SEED, *range(4)]))
async def test_nine_of_ten_mutants_are_played(seed: int) -> None:
    lost = await not_played(seed)
    assert len(lost) <= COUNT - MIN_PLAYED, "\n".join(lost)


@pytest.mark.long
async def test_nine_of_ten_mutants_of_any_seed_are_played() -> None:
    first = secrets.randbelow(10**9)
    print(f"seeds from {first}")
    bad = [lost for seed in range(first, first + 40) if len(lost := await not_played(seed)) > COUNT - MIN_PLAYED]
    assert bad == [], "\n".join(line for lost in bad for line in lost)


def test_the_same_seed_makes_the_same_mutants() -> None:
    seed = random.Random(SEED).randrange(10**6)
    made = [{name: kind.__doc__ for name, kind in mutants(one).items()} for one in (seed, seed, seed + 1)]
    assert (made[0] == made[1], made[0] == made[2], len(made[0])) == (True, False, COUNT)
