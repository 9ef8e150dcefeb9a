"""A league in memory: judged as a real one.

Its summary has the first player's mistakes and the message that it answered worst.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from league_sdk.local.entrants import Entrant
from league_sdk.local.league import LocalLeague
from league_sdk.local.summing import summary
from league_sdk.player import AlwaysEven, AlwaysOdd, Careful, Random, Strategy
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.schemas import problems
from league_sdk.rules.registry import games


class Recorder(Random):
    """Records the messages and contexts that it receives."""

    def __init__(self) -> None:
        super().__init__(random.Random(1))
        self.messages: list[dict[str, Any]] = []
        self.contexts: list[dict[str, Any]] = []

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        self.contexts.append(context)
        return super().choose(options, context)

    def on_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)


class Clumsy(Strategy):
    quick = True

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return context["no such thing"]


class Asleep(Strategy):
    async def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        await asyncio.Event().wait()


def league(*makers: type[Strategy], game: str = "even_odd", seed: int = 1, **settings: Any) -> LocalLeague:
    """A league of players with these strategies."""
    entrants = [Entrant.of(number, make.__name__, make, game) for number, make in enumerate(makers, 1)]
    return LocalLeague(entrants, games()[game], LeagueSettings(**settings), random.Random(seed))


async def test_every_two_players_meet_once_in_each_of_the_round_robins_and_each_match_is_counted() -> None:
    played = league(Random, AlwaysEven, AlwaysOdd)
    counted = list[int]()
    await played.play(4, counted.append)
    assert counted == list(range(1, 13))
    assert [row.played for row in played.table()] == [8, 8, 8]
    assert {one.matches for one in played.meetings.values()} == {4}
    assert sum(row.wins for row in played.table()) == sum(row.losses for row in played.table())


async def test_the_same_seed_draws_the_same_numbers() -> None:
    drawn = []
    for seed in (7, 7, 8):
        played = league(AlwaysEven, AlwaysOdd, seed=seed)
        await played.play(30)
        drawn.append(played.entrants[0].player.memory.numbers_drawn)
    assert len(drawn[0]) == 30
    assert drawn[0] == drawn[1] != drawn[2]


async def test_a_player_is_told_what_a_league_tells_and_every_message_is_canonical() -> None:
    played = league(Recorder, AlwaysOdd)
    await played.play(2)
    strategy = played.entrants[0].player.strategy
    assert isinstance(strategy, Recorder)
    kinds = Counter(message["message_type"] for message in strategy.messages)
    assert kinds == {
        "ROUND_ANNOUNCEMENT": 2, "LEAGUE_STANDINGS_UPDATE": 2, "ROUND_COMPLETED": 2, "LEAGUE_COMPLETED": 1,
    }  # fmt: skip
    for message in strategy.messages:
        assert [str(one) for one in problems(message["message_type"], message)] == []
    assert len(strategy.contexts[1]["history"]) == 1
    (first,) = strategy.contexts[1]["history"]
    assert sum(strategy.contexts[1]["your_standings"].values()) == 1
    assert first["match_id"] == "R1M1"


async def test_a_mistake_is_on_record_and_costs_no_match() -> None:
    played = league(Clumsy, Random)
    await played.play(3)
    found = summary(played, rounds=3, took_s=1)
    (mistake,) = found["mistakes"]
    assert (mistake["method"], mistake["problem"], mistake["times"]) == ("choose", "KeyError: 'no such thing'", 3)
    assert mistake["where"].startswith("test_league.py, line ")
    assert found["worst"]["problem"].startswith("choose(): KeyError")
    assert found["worst"]["message_type"] == "CHOOSE_PARITY_CALL"
    assert all(row["technical_losses"] == 0 for row in found["table"])
    assert "tok_" not in str(found["worst"]).replace("tok_…", "")


async def test_a_player_that_does_not_answer_loses_technically_as_in_a_league() -> None:
    played = league(Asleep, Random, move_timeout_s=0.01, max_retries=1, retry_base_s=0)
    await played.play(1)
    last = played.table()[-1]
    assert (last.player_id, last.technical_losses) == ("P01", 1)
    worst = played.entrants[0].worst
    assert worst is not None
    assert worst.answer is None
    assert worst.problem == "no answer in time"


@pytest.mark.parametrize("game", sorted(games()))
async def test_every_game_is_played(game: str) -> None:
    played = league(Careful, Random, game=game)
    await played.play(4)
    assert played.played == 4
    found = summary(played, rounds=4, took_s=2)
    assert found["matches_per_second"] == 2
    assert [one["matches"] for one in found["against"]] == [4]
    if not games()[game].hidden:
        assert found["table"][0]["display_name"] == "Careful"
