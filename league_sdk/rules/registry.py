"""Which games there are: ours, and those that installed packages add (004 3.8.3, 9.3.4)."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from league_sdk.rules.even_odd import EvenOdd
from league_sdk.rules.game import Game

ENTRY_POINT_GROUP = "league_sdk.games"


@cache
def games() -> dict[str, Game]:
    """Every game by its ``game_type``. A package's entry point names a class without arguments."""
    found: dict[str, Game] = {EvenOdd.game_type: EvenOdd()}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        game: Game = point.load()()
        found.setdefault(game.game_type, game)
    return found


def get_game(game_type: str) -> Game:
    """The game of that name.

    Raises:
        KeyError: there is none.
    """
    return games()[game_type]


def describe() -> dict[str, dict[str, Any]]:
    """The games registry as 004 3.8.3 and 9.3.4 show it."""
    return {
        name: {
            "display_name": game.display_name,
            "move_types": [game.move_type],
            "valid_choices": {game.move_type: list(game.valid_choices)},
            "min_players": 2,
            "max_players": 2,
            "rules_module": type(game).__module__,
            "max_round_time_sec": game.max_round_time_sec,
        }
        for name, game in games().items()
    }
