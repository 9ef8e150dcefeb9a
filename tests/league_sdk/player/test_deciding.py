"""How a player uses its strategy, and its history (004 3.6, 9.4.4)."""

import asyncio
import itertools
import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from league_sdk.player import AlwaysOdd, History, Memory, Player, Strategy
from league_sdk.player.deciding import Decider
from league_sdk.player.mistakes import Mistake
from tests.league_sdk.player.samples import ACCEPTED, CHOICE, INVITATION, OVER


class Broken(Strategy):
    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        raise RuntimeError("a student's mistake")

    def on_result(self, result: dict[str, Any]) -> None:
        raise RuntimeError("another")


class Illegal(Strategy):
    quick = True

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return "Even"


class Slow(Strategy):
    """Waits for an event before it answers, and counts how often it is asked."""

    def __init__(self) -> None:
        self.call_count, self.context = 0, dict[str, Any]()
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        self.call_count, self.context = self.call_count + 1, context
        self.begun.set()
        await self.go.wait()
        return options[0]


@pytest.mark.parametrize("make", [Broken, Illegal])
async def test_a_player_with_a_broken_strategy_plays_at_random(
    make: type[Strategy], caplog: pytest.LogCaptureFixture
) -> None:
    player = Player("Alpha", make())
    player.accept(ACCEPTED)
    assert (await player.call("choose_parity", dict(CHOICE)))["parity_choice"] in ("even", "odd")
    assert await player.call("notify_match_result", dict(OVER)) == {"status": "received"}
    assert "a random move was played" in caplog.text


async def test_a_repeated_request_does_not_ask_the_strategy_again() -> None:
    """A referee that hangs up and asks again gets the answer to its first request."""
    player = Player("Alpha", strategy := Slow())
    player.accept(ACCEPTED)
    await player.call("handle_game_invitation", dict(INVITATION))
    first = asyncio.create_task(player.call("choose_parity", dict(CHOICE)))
    second = asyncio.create_task(player.call("choose_parity", dict(CHOICE)))
    await strategy.begun.wait()
    first.cancel()
    assert await player.call("ping", {}) == {"status": "ok"}
    strategy.go.set()
    assert (await second)["parity_choice"] == "even"
    assert (await player.call("choose_parity", dict(CHOICE)))["parity_choice"] == "even"
    assert strategy.call_count == 1
    known = {name: strategy.context[name] for name in ("opponent_id", "round_id", "league_id", "role_in_match")}
    assert known == {
        "opponent_id": "P02", "round_id": 1, "league_id": "league_2025_even_odd", "role_in_match": "PLAYER_A",
    }  # fmt: skip
    # A new attempt is a new conversation: the strategy is asked again.
    await player.call("choose_parity", CHOICE | {"conversation_id": "conv-r1m1-002"})
    assert strategy.call_count == 2


class InTurn(Strategy):
    """Chooses even, then odd, and so on."""

    quick = True

    def __init__(self) -> None:
        self.turns = itertools.count()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return options[next(self.turns) % 2]


async def test_the_opponent_that_calls_in_the_referees_place_is_told_another_choice() -> None:
    """It knows the conversation of their match, and could choose after us."""
    player = Player("Alpha", InTurn())
    player.accept(ACCEPTED)
    of_opponent = CHOICE | {"auth_token": "tok_" + "f" * 32}
    assert (await player.call("choose_parity", of_opponent))["parity_choice"] == "even"
    assert (await player.call("choose_parity", dict(CHOICE)))["parity_choice"] == "odd"
    assert (await player.call("choose_parity", of_opponent))["parity_choice"] == "even"
    assert (await player.call("choose_parity", dict(CHOICE)))["parity_choice"] == "odd"


def test_the_history_strategy_chooses_the_more_frequent_parity() -> None:
    strategy = History(random.Random(1))
    for numbers, expected in (([2, 4, 1], "even"), ([1, 3, 2], "odd")):
        assert strategy.choose(["even", "odd"], {"numbers_drawn": numbers}) == expected
    assert strategy.choose(["even", "odd"], {"numbers_drawn": []}) in ("even", "odd")


def game_over(match_id: str, status: str, winner: str | None) -> dict[str, Any]:
    result = {"status": status, "winner_player_id": winner, "choices": {"P01": None, "P02": None}}
    return {"match_id": match_id, "game_result": result}


async def test_the_last_result_of_a_match_counts_and_survives_a_restart(tmp_path: Path) -> None:
    player = Player("Alpha", AlwaysOdd(), Memory(tmp_path))
    player.accept(ACCEPTED)
    for params in (
        game_over("R1M1", "WIN", "P01"),
        game_over("R1M1", "WIN", "P02"),
        game_over("R2M1", "TECHNICAL_LOSS", None),
        game_over("R3M1", "DRAW", None),
        game_over("R4M1", "WIN", "P01"),
        game_over("R4M1", "CANCELLED", None),
    ):
        await player.call("notify_match_result", params)
    stats = {"total_matches": 3, "wins": 0, "losses": 2, "draws": 1}
    assert player.memory.stats() == stats
    assert (
        json.loads((tmp_path / "data" / "players" / "P01" / "history.json").read_text(encoding="utf-8"))["stats"]
        == stats
    )
    again = Player("Alpha", AlwaysOdd(), Memory(tmp_path))
    again.accept(ACCEPTED)
    assert again.memory.matches == player.memory.matches


@pytest.mark.parametrize(
    ("status", "winner", "result"),
    [
        ("WIN", "P01", "WIN"),
        ("WIN", "P02", "LOSS"),
        ("DRAW", None, "DRAW"),
        ("TECHNICAL_LOSS", None, "LOSS"),
        ("CANCELLED", None, "CANCELLED"),
    ],
)
async def test_a_strategy_is_told_what_a_match_was_for_it(status: str, winner: str | None, result: str) -> None:
    told = []

    class Listener(AlwaysOdd):
        def on_result(self, result: dict[str, Any]) -> None:
            told.append(result["result"])

    player = Player("Alpha", Listener())
    player.accept(ACCEPTED)
    await player.call("notify_match_result", game_over("R1M1", status, winner))
    assert told == [result]


class Endless(Strategy):
    """Never answers, in a thread that cannot be stopped."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        self.begun.set()
        threading.Event().wait()


async def test_a_strategy_that_never_answers_does_not_keep_the_process_from_ending() -> None:
    player = Player("Alpha", strategy := Endless())
    player.accept(ACCEPTED)
    task = asyncio.create_task(player.call("choose_parity", dict(CHOICE)))
    await asyncio.to_thread(strategy.begun.wait)
    task.cancel()
    running = [one for one in threading.enumerate() if one.name == "strategy"]
    assert running
    assert all(one.daemon for one in running)


class OtherNumber(int):
    """A number that equals an option but has another type, as the numbers of numpy."""


async def test_the_move_that_is_sent_is_the_option_itself() -> None:
    class Mine(Strategy):
        def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
            return OtherNumber(options[1])

    move = await Decider("Alpha", Mine(), 0).decide(("R1M1",), [4, 5], {}, once=False, state={})
    assert (move, type(move)) == (5, int)


@pytest.mark.parametrize(
    ("error", "problem"),
    [(StopIteration("done"), "StopIteration: done"), (SystemExit(3), "SystemExit: 3")],
)
async def test_exceptions_that_threads_cannot_pass_on_are_mistakes_too(error: BaseException, problem: str) -> None:
    class Mine(Strategy):
        def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
            raise error

    decider, mistakes = Decider("Alpha", Mine(), 0), list[Mistake]()
    decider.on_mistake = mistakes.append
    assert await decider.decide(("R1M1",), ["even"], {}, once=True) == "even"
    (mistake,) = mistakes
    assert (mistake.method, mistake.problem, mistake.match_id) == ("choose", problem, "R1M1")
    assert mistake.where.startswith("test_deciding.py, line ")


@pytest.mark.parametrize("token", [None, "", "tok_" + "f" * 32, 7])
async def test_our_token_is_told_to_nobody_but_the_league(token: Any) -> None:
    """Anybody who reaches the port may invite us, and with our token could answer in our name."""
    player = Player("Alpha", AlwaysOdd())
    player.accept(ACCEPTED)
    for method, message in (("handle_game_invitation", INVITATION), ("choose_parity", CHOICE)):
        assert (await player.call(method, dict(message)))["auth_token"] == ACCEPTED["auth_token"]
        stranger = await player.call(method, message | {"auth_token": token})
        assert "auth_token" not in stranger
        assert ACCEPTED["auth_token"] not in str(stranger)
