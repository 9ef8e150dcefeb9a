"""The strategy that plays Tic-Tac-Toe to its end."""

from __future__ import annotations

import random

import pytest

from league_sdk.player import Strategy
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game
from league_sdk.strategies import Perfect
from league_sdk.strategies.tic_tac_toe import _known, worth
from tests.league_sdk.player.positions import PLAYERS, after, ask


def ends(strategy: Strategy, game: Game, state: State, us: str) -> set[str | None]:
    """The winners of all games that can follow, for every play of the opponent."""
    outcome = game.outcome(state)
    if outcome is not None:
        return {outcome.winner}
    (mover,) = game.to_move(state)
    moves = [ask(strategy, game, state)] if mover == us else game.options(state, mover)
    return set[str | None]().union(*(ends(strategy, game, game.apply(state, mover, move), us) for move in moves))


@pytest.mark.parametrize("us", PLAYERS)
@pytest.mark.parametrize("seed", range(3))
def test_perfect_never_loses_whatever_the_other_does(us: str, seed: int) -> None:
    game = get_game("tic_tac_toe")
    assert ends(Perfect(random.Random(seed)), game, game.new_state(PLAYERS), us) == {us, None}


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ("0314", {2}),  # wins rather than blocks
        ("014", {8}),  # blocks
        ("0", {4}),  # everything but the middle loses
        ("048", {1, 3, 5, 7}),  # a corner would allow two threats at once
        ("", set(range(9))),  # with the best play all first moves draw
    ],
)
def test_perfect_plays_any_of_the_best_moves(moves: str, expected: set[int]) -> None:
    assert {ask(Perfect(random.Random(seed)), *after("tic_tac_toe", moves)) for seed in range(100)} == expected


def test_a_win_is_not_put_off() -> None:
    """X can win now (cell 8) or make two threats (cell 2): both lead to a win, and the one now is worth more."""
    game, state = after("tic_tac_toe", "0347")
    assert {ask(Perfect(random.Random(seed)), game, state) for seed in range(20)} == {8}


def test_tic_tac_toe_is_a_draw_and_has_5478_positions() -> None:
    game = get_game("tic_tac_toe")
    _known.clear()
    assert (worth(game, game.new_state(PLAYERS)), len(_known)) == (0, 5478)
