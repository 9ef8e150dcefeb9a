"""The strategies that come with the SDK, one module for each kind; read them, copy them, beat them (004 3.6).

Each module begins with its idea, what it can gain and what it cannot. What all strategies have in common is written
once, in :class:`~league_sdk.strategies.base.Strategy`: what a strategy is told, and that each one plays every game.
"""

from collections.abc import Mapping

from league_sdk.strategies.base import Strategy
from league_sdk.strategies.careful import Careful
from league_sdk.strategies.connect_four import Search
from league_sdk.strategies.frequency import Frequency
from league_sdk.strategies.language_model import LanguageModel
from league_sdk.strategies.patterns import History
from league_sdk.strategies.plain import Alternating, AlwaysEven, AlwaysOdd, Random
from league_sdk.strategies.tic_tac_toe import Perfect

STRATEGIES: Mapping[str, type[Strategy]] = {
    "random": Random,
    "even": AlwaysEven,
    "odd": AlwaysOdd,
    "alternating": Alternating,
    "frequency": Frequency,
    "history": History,
    "careful": Careful,
    "perfect": Perfect,
    "search": Search,
    "model": LanguageModel,
}
"""The strategies by the names that the command line takes."""

__all__ = [
    "STRATEGIES",
    "Alternating",
    "AlwaysEven",
    "AlwaysOdd",
    "Careful",
    "Frequency",
    "History",
    "LanguageModel",
    "Perfect",
    "Random",
    "Search",
]
