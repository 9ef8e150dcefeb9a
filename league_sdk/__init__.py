"""league_sdk: the protocol of the league and everything that uses it without Django.

Its largest parts, lowest first: ``protocol`` (messages, envelope, errors), ``dialects`` (ways of speaking),
``transport`` (the HTTP clients), ``rules`` (games as pure functions), ``asking`` (one request to one player),
``conformance`` (the check), ``judging`` (the referee), ``player`` (what a student starts from) and ``cli`` (the command
``league``). docs/architecture.md shows which imports which.
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
