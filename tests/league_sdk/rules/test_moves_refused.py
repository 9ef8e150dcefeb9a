"""Every sentence with which our games refuse a move can be translated (``protocol.notes`` knows it)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from league_sdk.asking.reading import read_move
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.notes import Note, read
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game

PLAYERS = ("P01", "P02")
OURS = ("even_odd", "even_odd_numbers", "tic_tac_toe", "connect_four")


def positions(game: Game) -> Iterator[State]:
    """The positions of a match in which everybody takes the first legal move."""
    state = game.new_state(PLAYERS)
    while True:
        yield state
        movers = game.to_move(state)
        if not movers:
            return
        state = game.apply(state, movers[0], game.options(state, movers[0])[0])


def refusals(game: Game) -> Iterator[str]:
    for state in positions(game):
        for player in PLAYERS:
            for move in ("maybe", None, 99, -1, {}, *range(10)):
                try:
                    read_move({game.choice_field.rpartition(".")[2]: move}, game, state, player)
                except LeagueError as error:
                    yield error.message


@pytest.mark.parametrize("name", OURS)
def test_every_refusal_of_a_move_can_be_translated(name: str) -> None:
    sentences = set(refusals(get_game(name)))
    assert len(sentences) > 2
    assert [one for one in sentences if not isinstance(read(one.rstrip(".")), Note)] == []
