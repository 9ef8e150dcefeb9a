"""From what the referee shows to a position that the rules can play on: shared by all strategies that look ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.protocol.errors import LeagueError
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import games


def position(game_type: object, state: Mapping[str, Any]) -> tuple[Game, State] | None:
    """The rules of a game in turns, and its state after the moves that the referee showed.

    Args:
        game_type: as in the context of a move.
        state: what the referee shows; its ``moves`` are made again by the rules that are installed here.

    Returns:
        None if the game is hidden, not installed here or over, or if a move is not legal.
    """
    game = games().get(game_type) if isinstance(game_type, str) else None
    if game is None or game.hidden:
        return None
    try:
        first, second = state["players"]
        game_state = game.new_state((first, second))
        for made in state["moves"]:
            (mover,) = game.to_move(game_state)
            game_state = game.apply(game_state, mover, made)
    except (KeyError, TypeError, ValueError, LeagueError):
        return None
    return (game, game_state) if len(game.to_move(game_state)) == 1 else None


def has_won(game: Game, game_state: State, player: str) -> bool:
    """Whether the game is over and ``player`` has won it."""
    outcome = game.outcome(game_state)
    return outcome is not None and outcome.winner == player


def wins_next(game: Game, game_state: State) -> bool:
    """Whether the player who is to move can win with this one move."""
    return any(
        has_won(game, game.apply(game_state, mover, move), mover)
        for mover in game.to_move(game_state)
        for move in game.options(game_state, mover)
    )
