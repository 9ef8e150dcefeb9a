"""The strategy that searches in Connect Four."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league_sdk.rules.game import State
from league_sdk.rules.registry import get_game
from league_sdk.strategies import Careful, Search
from league_sdk.strategies.connect_four import LINES, WIN, Position, after, free_cells, guess, has_four
from league_sdk.strategies.positions import has_won, wins_next
from tests.league_sdk.player import positions
from tests.league_sdk.player.positions import PLAYERS, ask
from tests.league_sdk.player.samples import CHOICE
from tests.sizes import examples

GAME = get_game("connect_four")


def hasty(seed: int = 1) -> Search:
    """A search that has no time to think."""
    return Search(random.Random(seed), budget_s=0.0)


@st.composite
def states(draw: st.DrawFn) -> State:
    """The state of a game that is not over, after some moves."""
    state = GAME.new_state(PLAYERS)
    for _ in range(draw(st.integers(0, 41))):
        (mover,) = GAME.to_move(state)
        further = GAME.apply(state, mover, draw(st.sampled_from(GAME.options(state, mover))))
        if GAME.outcome(further) is not None:
            break
        state = further
    return state


@pytest.mark.parametrize(
    ("moves", "expected"),
    [("010101", 0), ("06162", 3), ("60616", 6)],
)
def test_search_wins_if_it_can_and_blocks_if_it_must(moves: str, expected: int) -> None:
    assert {ask(hasty(seed), *positions.after("connect_four", moves)) for seed in range(5)} == {expected}


@settings(max_examples=examples(150))
@given(states())
def test_search_overlooks_no_win_in_one_and_no_block_in_one_even_without_time(state: State) -> None:
    (us,) = GAME.to_move(state)
    options, move = GAME.options(state, us), ask(hasty(), GAME, state)
    winning = [one for one in options if has_won(GAME, GAME.apply(state, us, one), us)]
    safe = [one for one in options if not wins_next(GAME, GAME.apply(state, us, one))]
    assert move in (winning or safe or options)


@settings(max_examples=examples(100))
@given(states())
def test_its_boards_of_bits_agree_with_the_rules(state: State) -> None:
    board = after(state["moves"])
    (us,) = GAME.to_move(state)
    assert sorted(board.columns()) == GAME.options(state, us)
    assert free_cells(board) == 42 - len(state["moves"])
    for column in board.columns():
        further, outcome = board.drop(column), GAME.outcome(GAME.apply(state, us, column))
        assert has_four(further.theirs) == (outcome is not None and outcome.winner == us)
        assert not has_four(further.mine)


def plain_worth(board: Position, depth: int) -> int:
    """The value of a position by a full search, without pruning."""
    if has_four(board.theirs):
        return board.all.bit_count() - WIN
    if not board.columns():
        return 0
    if depth == 0:
        return guess(board)
    return max(-plain_worth(board.drop(column), depth - 1) for column in board.columns())


@settings(max_examples=examples(25))
@given(states())
def test_the_moves_that_the_search_skips_change_no_value(state: State) -> None:
    board = after(state["moves"])
    best = Search(random.Random(1), max_depth=3, clock=lambda: 0.0).best(board, 1.0)
    # The search goes no deeper once it finds the game decided.
    for depth in range(1, min(3, free_cells(board)) + 1):
        values = {column: -plain_worth(board.drop(column), depth - 1) for column in board.columns()}
        if abs(max(values.values())) > WIN // 2:
            break
    assert values[best] == max(values.values())


def test_search_sees_a_double_threat_that_careful_does_not() -> None:
    """A third disc between two empty cells would win: the opponent must prevent it one move earlier."""
    game, state = positions.after("connect_four", "334")
    assert ask(Search(random.Random(1), max_depth=4, clock=lambda: 0.0), game, state) in (2, 5)
    moves = {ask(Careful(random.Random(seed)), game, state) for seed in range(20)}
    assert moves == {3}


def test_search_stops_when_its_time_is_over_and_uses_the_last_complete_search() -> None:
    depths: list[int] = []

    class Watched(Search):
        def _search(self, board: Position, columns: list[int], depth: int, end: float | None) -> dict[int, int]:
            values = super()._search(board, columns, depth, end)
            depths.append(depth)
            return values

    ticks = itertools.count()
    search = Watched(random.Random(1), budget_s=1000.0, clock=lambda: float(next(ticks)))
    assert ask(search, *positions.after("connect_four", "33")) in range(7)
    # Each position takes a second by this clock.
    assert depths == list(range(1, len(depths) + 1))
    assert 2 < len(depths) < 8
    assert 1000 < next(ticks) < 1010


def test_the_deadline_of_the_move_is_kept() -> None:
    clock = itertools.count()
    search = Search(random.Random(1), budget_s=10**9, clock=lambda: float(next(clock)))
    game, state = positions.after("connect_four", "33")
    context: dict[str, Any] = {
        "game_type": "connect_four",
        "timestamp": CHOICE["timestamp"],
        "deadline": CHOICE["deadline"],
    }
    search.move(game.options(state, "P01"), game.view(state, "P01"), context)
    assert next(clock) < 40


def test_the_same_random_numbers_give_the_same_moves() -> None:
    def game_of(seed: int) -> list[int]:
        players = [Search(random.Random(seed), max_depth=2), Careful(random.Random(seed))]
        state = GAME.new_state(PLAYERS)
        while GAME.outcome(state) is None:
            (mover,) = GAME.to_move(state)
            state = GAME.apply(state, mover, ask(players[PLAYERS.index(mover)], GAME, state))
        return list(state["moves"])

    assert game_of(3) == game_of(3)


def test_a_board_has_69_rows_of_four() -> None:
    assert (len(LINES), len(set(LINES)), {line.bit_count() for line in LINES}) == (69, 69, {4})
