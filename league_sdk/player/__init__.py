"""What a student starts from: override :meth:`Strategy.choose` or :meth:`Strategy.move`, call :func:`run`, and play."""

from league_sdk.player.agent import Player
from league_sdk.player.app import run
from league_sdk.player.memory import Memory
from league_sdk.player.server import PlayerServer
from league_sdk.strategies import Alternating, AlwaysEven, AlwaysOdd, Careful, Frequency, History, Random
from league_sdk.strategies.base import Strategy

__all__ = [
    "Alternating",
    "AlwaysEven",
    "AlwaysOdd",
    "Careful",
    "Frequency",
    "History",
    "Memory",
    "Player",
    "PlayerServer",
    "Random",
    "Strategy",
    "run",
]
