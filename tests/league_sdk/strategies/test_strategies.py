"""What holds for every strategy that comes with the SDK."""

from __future__ import annotations

import inspect
import random

import pytest

from league_sdk.player import Player, Strategy
from league_sdk.player.app import _parser
from league_sdk.rules.registry import games, get_game
from league_sdk.strategies import STRATEGIES
from tests.league_sdk.player.positions import PLAYERS, call_for
from tests.league_sdk.player.samples import CHOICE


@pytest.fixture(autouse=True)
def unreachable_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is set up, but nobody listens there."""
    monkeypatch.setenv("LEAGUE_MODEL_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LEAGUE_MODEL_NAME", "nobody")


def made(name: str) -> Strategy:
    """A strategy that takes no more time than it must."""
    strategy = STRATEGIES[name]()
    if hasattr(strategy, "budget_s"):
        strategy.budget_s = 0.0
    return strategy


@pytest.mark.parametrize("name", list(STRATEGIES))
@pytest.mark.parametrize("game_type", [name for name in games() if name != "even_odd"])
async def test_every_strategy_plays_every_game_of_make_move_to_its_end(
    name: str, game_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    game, rng = get_game(game_type), random.Random(5)
    seats = {player: Player(player, made(name)) for player in PLAYERS}
    state = game.new_state(PLAYERS)
    while game.outcome(state) is None:
        for player in game.to_move(state):
            reply = await seats[player].call("make_move", call_for(game, state, player))
            state = game.apply(state, player, reply["move_data"]["choice"])
        if not game.to_move(state) and game.outcome(state) is None:
            state = game.draw(state, rng)
    assert "a random move was played" not in caplog.text


@pytest.mark.parametrize("name", list(STRATEGIES))
async def test_every_strategy_chooses_a_parity(name: str, caplog: pytest.LogCaptureFixture) -> None:
    answer = await Player("Alpha", made(name)).call("choose_parity", dict(CHOICE))
    assert answer["parity_choice"] in ("even", "odd")
    assert "a random move was played" not in caplog.text


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_strategy_says_what_it_can_gain_and_what_not(name: str) -> None:
    says = inspect.getdoc(inspect.getmodule(STRATEGIES[name])) or ""
    assert [word in says for word in ("004 3.", "can gain:", "cannot gain:")] == [True, True, True]


def test_the_command_line_offers_every_strategy() -> None:
    for name in STRATEGIES:
        arguments = ["--league", "http://127.0.0.1:8000/mcp", "--name", "Alpha", "--strategy", name]
        assert _parser(own_strategy=False, configured=()).parse_args(arguments).strategy == name
