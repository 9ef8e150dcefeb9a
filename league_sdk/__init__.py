"""league_sdk: the protocol of the league and everything that uses it without Django.

Layers, lowest first: ``protocol`` (messages, envelope, errors), ``dialects`` (ways of
speaking), ``transport`` (the one HTTP client), ``rules`` (games as pure functions),
``judging`` (referee) and ``player`` (what a student starts from).
"""

from league_sdk.config_loader import ConfigLoader
from league_sdk.config_models import (
    AgentsConfig,
    GameConfig,
    GamesRegistry,
    LeagueConfig,
    PlayerConfig,
    RefereeConfig,
    SystemConfig,
)
from league_sdk.logger import JsonLogger
from league_sdk.protocol import SDK_VERSION
from league_sdk.repositories import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)

__version__ = SDK_VERSION

__all__ = [
    "AgentsConfig",
    "ConfigLoader",
    "GameConfig",
    "GamesRegistry",
    "JsonLogger",
    "LeagueConfig",
    "MatchRepository",
    "PlayerConfig",
    "PlayerHistoryRepository",
    "RefereeConfig",
    "RoundsRepository",
    "StandingsRepository",
    "SystemConfig",
]
