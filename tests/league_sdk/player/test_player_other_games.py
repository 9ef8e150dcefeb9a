"""Players of games other than even_odd: the generic move of 004 3.8.2, and strategies for boards."""

from __future__ import annotations

import importlib.util
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league_sdk.player import AlwaysEven, Careful, History, Player, Random, Strategy
from league_sdk.player.registration import request_for
from league_sdk.player.strategy import STRATEGIES
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import games, get_game
from tests.league_sdk.player.samples import ACCEPTED, message
from tests.places import ROOT

EXAMPLE = ROOT / "examples" / "connect_four_player.py"
PLAYERS = ("P01", "P02")
BOARDS = ("tic_tac_toe", "connect_four")


def example() -> Strategy:
    """The example's strategy, loaded from its file."""
    spec = importlib.util.spec_from_file_location("connect_four_player", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.FourPlayer()
    assert isinstance(made, Strategy)
    return made


def call_for(game: Game, state: State, player: str) -> dict[str, Any]:
    """GAME_MOVE_CALL as the referee builds it."""
    request = {
        "move_type": game.move_type,
        "valid_options": game.options(state, player),
        "context": {"opponent_id": "P02", "state": game.view(state, player)},
    }
    return message("GAME_MOVE_CALL", player_id=player, game_type=game.game_type, move_request=request)


def after(game_type: str, moves: str) -> tuple[Game, State]:
    """A game after these moves, in turn."""
    game = get_game(game_type)
    state = game.new_state(PLAYERS)
    for turn, move in enumerate(moves):
        state = game.apply(state, PLAYERS[turn % 2], int(move))
    return game, state


def ask(strategy: Strategy, game: Game, state: State) -> Any:
    """The move of a strategy for the player whose turn it is."""
    (player,) = game.to_move(state)
    return strategy.move(game.options(state, player), game.view(state, player), {"game_type": game.game_type})


class Watcher(Strategy):
    """Notes what it is told and plays the last option."""

    quick = True

    def __init__(self) -> None:
        self.told: list[tuple[list[Any], dict[str, Any], dict[str, Any]]] = []

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        self.told.append((options, state, context))
        return options[-1]


async def test_a_strategy_sees_the_options_the_board_and_whose_game_it_is() -> None:
    player = Player("Alpha", strategy := Watcher())
    player.accept(ACCEPTED)
    game, state = after("tic_tac_toe", "40")
    answer = await player.call("make_move", call_for(game, state, "P01"))
    assert (answer["message_type"], answer["game_type"]) == ("GAME_MOVE_RESPONSE", "tic_tac_toe")
    assert answer["move_data"] == {"move_type": "place_mark", "choice": 8}
    ((options, seen, context),) = strategy.told
    assert (options, seen) == ([1, 2, 3, 5, 6, 7, 8], game.view(state, "P01"))
    assert (context["game_type"], context["match_id"], context["player_id"]) == ("tic_tac_toe", "R1M1", "P01")


@pytest.mark.parametrize("place", ["context", "request", "flat", "nowhere"])
async def test_a_player_finds_the_state_wherever_a_referee_may_put_it(place: str) -> None:
    player = Player("Alpha", strategy := Watcher())
    request: dict[str, Any] = {"move_type": "place_mark", "valid_options": [3]}
    params = message("GAME_MOVE_CALL", game_type="tic_tac_toe", move_request=request)
    holder = {"context": request.setdefault("context", {}), "request": request, "flat": params}.get(place)
    if holder is not None:
        holder["state"] = {"board": [["X"]]}
    assert (await player.call("GAME_MOVE_CALL", params))["move_data"]["choice"] == 3
    assert strategy.told[0][1] == ({} if place == "nowhere" else {"board": [["X"]]})


async def test_a_turn_based_game_asks_many_times_in_one_conversation() -> None:
    player = Player("Alpha", strategy := Watcher())
    for moves in ("", "80", "8071"):
        await player.call("make_move", call_for(*after("tic_tac_toe", moves), "P01"))
    assert [len(options) for options, _, _ in strategy.told] == [9, 7, 5]


@pytest.mark.parametrize("answer", ["4", 9, True, None, [4]])
async def test_a_player_replaces_an_illegal_move_of_its_strategy(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Wrong(Strategy):
        def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
            return answer

    player = Player("Alpha", Wrong())
    sent = (await player.call("make_move", call_for(*after("tic_tac_toe", "12"), "P01")))["move_data"]["choice"]
    assert sent in (0, 3, 4, 5, 6, 7, 8)
    assert f"Alpha: move() gave {answer!r}" in caplog.text


@pytest.mark.parametrize("name", list(STRATEGIES))
@pytest.mark.parametrize("game_type", [name for name in games() if name != "even_odd"])
async def test_every_built_in_strategy_plays_every_game_to_its_end(name: str, game_type: str) -> None:
    game, rng = get_game(game_type), random.Random(5)
    seats = {player: Player(player, STRATEGIES[name]()) for player in PLAYERS}
    state = game.new_state(PLAYERS)
    while game.outcome(state) is None:
        for player in game.to_move(state):
            reply = await seats[player].call("make_move", call_for(game, state, player))
            state = game.apply(state, player, reply["move_data"]["choice"])
        if not game.to_move(state) and game.outcome(state) is None:
            state = game.draw(state, rng)


async def test_a_generic_call_of_even_odd_calls_choose() -> None:
    """004 3.8.2 shows even_odd with GAME_MOVE_CALL, too."""
    player = Player("Alpha", AlwaysEven())
    request = {"move_type": "choose_parity", "valid_options": ["even", "odd"], "context": {"state": {}}}
    params = message("GAME_MOVE_CALL", game_type="even_odd", move_request=request)
    for _ in range(2):
        assert (await player.call("make_move", params))["move_data"]["choice"] == "even"


# -- the careful strategy, and the example ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("game_type", "moves", "expected"),
    [
        ("tic_tac_toe", "0314", 2),  # wins rather than blocks
        ("tic_tac_toe", "014", 8),  # blocks the diagonal
        ("connect_four", "010101", 0),  # wins in a column
        ("connect_four", "06162", 3),  # blocks a row
        ("connect_four", "60616", 6),  # blocks a column
    ],
)
def test_careful_wins_if_it_can_and_blocks_if_it_must(game_type: str, moves: str, expected: int) -> None:
    game, state = after(game_type, moves)
    assert {ask(Careful(random.Random(seed)), game, state) for seed in range(20)} == {expected}


def test_careful_does_not_play_below_a_winning_cell_of_its_opponent() -> None:
    """The opponent would win in the second row of the middle column, which a disc in its first row makes possible."""
    game, state = after("connect_four", "00116262")
    assert {ask(Careful(random.Random(seed)), game, state) for seed in range(20)} == {2, 4}


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(BOARDS), st.integers(0, 2**16))
def test_careful_never_loses_in_one_move_that_it_could_have_stopped(
    data: st.DataObject, game_type: str, seed: int
) -> None:
    game = get_game(game_type)
    state, careful = game.new_state(PLAYERS), Careful(random.Random(seed))
    while game.outcome(state) is None:
        (player,) = game.to_move(state)
        if player == "P01":
            state = game.apply(state, player, data.draw(st.sampled_from(game.options(state, player))))
            continue
        safe = [one for one in game.options(state, player) if not loses_next(game, game.apply(state, player, one))]
        move = ask(careful, game, state)
        assert move in (safe or game.options(state, player))
        state = game.apply(state, player, move)


def loses_next(game: Game, state: State) -> bool:
    """Whether P01 wins with its next move."""
    ends = [game.outcome(game.apply(state, "P01", answer)) for answer in game.options(state, "P01")]
    return any(end is not None and end.winner == "P01" for end in ends)


@pytest.mark.parametrize("state", [{}, {"players": 7, "moves": []}, {"players": ["P01", "P02"], "moves": [7, 0]}])
def test_careful_plays_at_random_when_it_cannot_replay_the_game(state: dict[str, Any]) -> None:
    strategy = Careful(random.Random(1))
    for game_type in ("connect_four", "even_odd_numbers", "chess", None):
        assert strategy.move([5], state, {"game_type": game_type}) == 5


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


def test_random_draws_from_the_source_it_is_given() -> None:
    first, second = ([Random(random.Random(3)).move(list(range(7)), {}, {}) for _ in range(5)] for _ in range(2))
    assert first == second
