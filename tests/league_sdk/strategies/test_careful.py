"""The careful strategy looks at its own move and at the answer."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league_sdk.player import Careful
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game
from league_sdk.strategies.careful import nearest_to_the_middle
from tests.league_sdk.player.positions import BOARDS, PLAYERS, after, ask
from tests.sizes import examples


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


@settings(max_examples=examples(30))
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
        assert {strategy.move([1, 3, 5], state, {"game_type": game_type}) for _ in range(50)} == {1, 3, 5}


def test_careful_can_choose_among_words() -> None:
    """Words, as in even_odd and in some games that packages add, have no middle."""
    assert Careful(random.Random(1)).choose(["even"], {}) == "even"
    assert nearest_to_the_middle(["hold", "raise", "fold"], ["hold", "fold"]) == ["hold", "fold"]
