"""What a student starts from: override :meth:`Strategy.choose` or :meth:`Strategy.move`, call :func:`run`, and play."""

from league_sdk.player.agent import Player
from league_sdk.player.app import run
from league_sdk.player.memory import Memory
from league_sdk.player.server import PlayerServer
from league_sdk.player.strategy import AlwaysEven, AlwaysOdd, Careful, History, Random, Strategy

__all__ = [
    "AlwaysEven",
    "AlwaysOdd",
    "Careful",
    "History",
    "Memory",
    "Player",
    "PlayerServer",
    "Random",
    "Strategy",
    "run",
]
