"""Players of games other than even_odd: the generic move of 004 3.8.2, and the example for a board."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from league_sdk.player import History, Player, Strategy
from league_sdk.player.registration import request_for
from league_sdk.rules.registry import games
from tests.league_sdk.player.positions import after, ask, call_for
from tests.league_sdk.player.samples import ACCEPTED, message
from tests.paths import ROOT

EXAMPLE = ROOT / "examples" / "connect_four_player.py"


def example() -> Strategy:
    """The example's strategy, loaded from its file."""
    spec = importlib.util.spec_from_file_location("connect_four_player", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.FourPlayer()
    assert isinstance(made, Strategy)
    return made


class Watcher(Strategy):
    """Records the arguments of each call and plays the last option."""

    quick = True

    def __init__(self) -> None:
        self.calls: list[tuple[list[Any], dict[str, Any], dict[str, Any]]] = []

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        self.calls.append((options, state, context))
        return options[-1]


class Chooser(Strategy):
    """Records the options of each call of ``choose``, and chooses the last."""

    quick = True

    def __init__(self) -> None:
        self.asked: list[list[Any]] = []

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        self.asked.append(options)
        return options[-1]


async def test_a_strategy_sees_the_options_the_board_and_the_match() -> None:
    player = Player("Alpha", strategy := Watcher())
    player.accept(ACCEPTED)
    game, state = after("tic_tac_toe", "40")
    answer = await player.call("make_move", call_for(game, state, "P01"))
    assert (answer["message_type"], answer["game_type"]) == ("GAME_MOVE_RESPONSE", "tic_tac_toe")
    assert answer["move_data"] == {"move_type": "place_mark", "choice": 8}
    ((options, seen, context),) = strategy.calls
    assert (options, seen) == ([1, 2, 3, 5, 6, 7, 8], game.view(state, "P01"))
    assert (context["game_type"], context["match_id"], context["player_id"]) == ("tic_tac_toe", "R1M1", "P01")


@pytest.mark.parametrize("location", ["context", "request", "flat", "nowhere"])
async def test_a_player_finds_the_state_wherever_a_referee_may_put_it(location: str) -> None:
    player = Player("Alpha", strategy := Watcher())
    request: dict[str, Any] = {"move_type": "place_mark", "valid_options": [3]}
    params = message("GAME_MOVE_CALL", game_type="tic_tac_toe", move_request=request)
    holder = {"context": request.setdefault("context", {}), "request": request, "flat": params}.get(location)
    if holder is not None:
        holder["state"] = {"board": [["X"]]}
    assert (await player.call("GAME_MOVE_CALL", params))["move_data"]["choice"] == 3
    assert strategy.calls[0][1] == ({} if location == "nowhere" else {"board": [["X"]]})


async def test_a_turn_based_game_asks_many_times_in_one_conversation() -> None:
    player = Player("Alpha", strategy := Watcher())
    for moves in ("", "80", "8071"):
        await player.call("make_move", call_for(*after("tic_tac_toe", moves), "P01"))
    assert [len(options) for options, _, _ in strategy.calls] == [9, 7, 5]


@pytest.mark.parametrize("answer", ["4", 9, True, None, [4]])
async def test_a_player_replaces_an_illegal_move_of_its_strategy(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Wrong(Strategy):
        def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
            return answer

    player = Player("Alpha", Wrong())
    sent = (await player.call("make_move", call_for(*after("tic_tac_toe", "12"), "P01")))["move_data"]["choice"]
    assert sent in (0, 3, 4, 5, 6, 7, 8)
    assert f"Alpha: move(): gave {answer!r}" in caplog.text


async def test_a_generic_call_of_even_odd_calls_choose() -> None:
    """004 3.8.2 shows even_odd with GAME_MOVE_CALL, too."""
    player = Player("Alpha", strategy := Chooser())
    request = {"move_type": "choose_parity", "valid_options": ["even", "odd"], "context": {"state": {}}}
    params = message("GAME_MOVE_CALL", game_type="even_odd", move_request=request)
    for _ in range(2):
        assert (await player.call("make_move", params))["move_data"]["choice"] == "odd"
    assert strategy.asked == [["even", "odd"]]


def test_the_example_wins_blocks_and_prefers_the_middle() -> None:
    strategy = example()
    for moves, expected in (("", 3), ("010101", 0), ("06162", 3), ("60616", 6), ("333333", 2)):
        assert ask(strategy, *after("connect_four", moves)) == expected
    assert ask(strategy, *after("tic_tac_toe", "4")) in (0, 1, 2, 3, 5, 6, 7, 8)


def test_which_games_a_player_registers_for() -> None:
    def registered(player: Player) -> Any:
        return request_for(player, "http://127.0.0.1:8101/mcp", None)["player_meta"]["game_types"]

    class FourOnly(Strategy):
        game_types = ("connect_four",)

    assert registered(Player("Alpha")) == registered(Player("Alpha", History())) == list(games())
    assert registered(Player("Alpha", FourOnly())) == ["connect_four"]
    assert registered(Player("Alpha", FourOnly(), game_types=("tic_tac_toe",))) == ["tic_tac_toe"]
