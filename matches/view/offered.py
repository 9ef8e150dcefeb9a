"""READS: the games that new leagues can have: those that are installed, unless the site's configuration names fewer."""

from __future__ import annotations

from django.conf import settings

from league_sdk.rules.game import Game
from league_sdk.rules.registry import games


def offered_games() -> dict[str, Game]:
    """The games by ``game_type``."""
    listed = settings.LEAGUE_GAMES
    return {name: game for name, game in games().items() if listed is None or name in listed}
