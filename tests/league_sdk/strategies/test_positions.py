"""What a strategy makes of the state that a referee shows."""

from __future__ import annotations

import pytest

from league_sdk.strategies.positions import has_won, position, wins_next
from tests.league_sdk.player.positions import after


def test_a_position_is_made_again_from_its_moves() -> None:
    game, state = after("connect_four", "3343")
    assert position("connect_four", game.view(state, "P01")) == (game, state)


@pytest.mark.parametrize(
    ("game_type", "state"),
    [
        ("even_odd", {"players": ["P01", "P02"], "moves": []}),  # hidden
        ("chess", {"players": ["P01", "P02"], "moves": []}),
        (7, {}),
        ("tic_tac_toe", {}),
        ("tic_tac_toe", {"players": ["P01"], "moves": []}),
        ("tic_tac_toe", {"players": ["P01", "P02"], "moves": [0, 0]}),
        ("tic_tac_toe", {"players": ["P01", "P02"], "moves": [0, 3, 1, 4, 2]}),  # over
        ("tic_tac_toe", {"players": ["P01", "P02"], "moves": [{"cell": 1}]}),
    ],
)
def test_a_state_that_cannot_be_played_on_is_not_a_position(game_type: object, state: dict[str, object]) -> None:
    assert position(game_type, state) is None


def test_who_has_won_and_who_could() -> None:
    game, state = after("tic_tac_toe", "0314")
    assert (wins_next(game, state), has_won(game, state, "P01")) == (True, False)
    game, state = after("tic_tac_toe", "03142")
    assert (wins_next(game, state), has_won(game, state, "P01"), has_won(game, state, "P02")) == (False, True, False)
