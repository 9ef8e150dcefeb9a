"""Positions of games, and how a strategy is asked in them."""

from __future__ import annotations

from typing import Any

from league_sdk.player import Strategy
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game
from tests.league_sdk.player.samples import message

PLAYERS = ("P01", "P02")
BOARDS = ("tic_tac_toe", "connect_four")


def call_for(game: Game, state: State, player: str) -> dict[str, Any]:
    """GAME_MOVE_CALL as the referee builds it; it names P02 as the opponent of either player."""
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
