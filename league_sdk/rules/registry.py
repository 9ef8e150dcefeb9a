"""The registry of games: our own, and those that installed packages add (004 3.8.3, 9.3.4)."""

from __future__ import annotations

import logging
import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from league_sdk.protocol.messages import MessageType
from league_sdk.rules import wording
from league_sdk.rules.connect_four import ConnectFour
from league_sdk.rules.even_odd import EvenOdd
from league_sdk.rules.even_odd_numbers import EvenOddNumbers
from league_sdk.rules.game import Game
from league_sdk.rules.tic_tac_toe import TicTacToe

logger = logging.getLogger("league_sdk.rules")

ENTRY_POINT_GROUP = "league_sdk.games"
OURS: tuple[type[Game], ...] = (
    EvenOdd,
    EvenOddNumbers,
    TicTacToe,
    ConnectFour,
)
_REQUIRED_ATTRIBUTES: dict[str, Any] = {
    "game_type": str,
    "display_name": str,
    "move_type": str,
    "valid_choices": (list, tuple),
    "call_message": MessageType,
    "response_message": MessageType,
    "choice_field": str,
    "hidden": bool,
    "max_round_time_sec": int,
    "drawing": str,
}
"""The attributes that every game must have, with their types."""
_DRAWING = re.compile("[a-z0-9_]*")
"""The name of a folder, which becomes a part of a template's name."""


@cache
def games() -> dict[str, Game]:
    """Every game by its ``game_type``; computed once per process.

    A package adds a game by an entry point in the group ``league_sdk.games`` that names a subclass of
    :class:`~league_sdk.rules.game.Game` whose constructor needs no arguments. A game that cannot be loaded or whose
    ``game_type`` exists already is left out and logged, so that the other games can still be played.
    """
    loaded = {game.game_type: game for game in (game_class() for game_class in OURS)}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        game = _load(point)
        if game is None:
            continue
        if game.game_type in loaded:
            logger.error("game %s is left out: there is a game_type %r already", _name(point), game.game_type)
        else:
            loaded[game.game_type] = game
    return loaded


def get_game(game_type: str) -> Game:
    """The game with this ``game_type``.

    Raises:
        KeyError: there is no such game.
    """
    return games()[game_type]


def describe() -> dict[str, dict[str, Any]]:
    """The games registry in the form of 004 3.8.3 and 9.3.4."""
    return {name: _describe(game) for name, game in games().items()}


def _describe(game: Game) -> dict[str, Any]:
    return {
        "game_type": game.game_type,
        "display_name": game.display_name,
        "move_types": [game.move_type],
        "valid_choices": {game.move_type: list(game.valid_choices)},
        "min_players": 2,
        "max_players": 2,
        "rules_module": type(game).__module__,
        "max_round_time_sec": game.max_round_time_sec,
    }


def _load(point: EntryPoint) -> Game | None:
    """The game of an entry point; None if it cannot be used, since the code of others may fail in any way."""
    try:
        game = point.load()()
        if not isinstance(game, Game):
            raise TypeError(f"{point.value} is no subclass of league_sdk.rules.game.Game")
        for name, kind in _REQUIRED_ATTRIBUTES.items():
            value = getattr(game, name)
            if not isinstance(value, kind) or (value in ("", (), []) and name != "drawing"):
                raise TypeError(f"its {name} is {value!r}")
        if not wording.is_usable(game.translations):
            raise TypeError(f"its translations are {game.translations!r}")
        if not _DRAWING.fullmatch(game.drawing):
            raise TypeError(f"its drawing is {game.drawing!r}")
    except Exception:
        logger.exception("game %s is left out: it could not be loaded", _name(point))
        return None
    return game


def _name(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unknown package"
    return f"{point.name} ({point.value} of {package})"
