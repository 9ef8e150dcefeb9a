"""House agents: whom a student's agent can practise with, in three strengths for every game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from league_sdk.rules.connect_four import ConnectFour
from league_sdk.rules.even_odd import EvenOdd
from league_sdk.rules.tic_tac_toe import TicTacToe
from league_sdk.strategies.base import Strategy
from league_sdk.strategies.careful import Careful
from league_sdk.strategies.connect_four import Search
from league_sdk.strategies.patterns import History
from league_sdk.strategies.plain import Random
from league_sdk.strategies.tic_tac_toe import Perfect

EASY, MEDIUM, HARD = "easy", "medium", "hard"
STRENGTHS = (EASY, MEDIUM, HARD)
SEARCH_S = 0.25
"""Seconds that the hard agent thinks about a move of Connect Four: many may practise on the machine of a league."""


def _search() -> Strategy:
    return Search(budget_s=SEARCH_S)


_HARD: Mapping[str, Callable[[], Strategy]] = MappingProxyType(
    {EvenOdd.game_type: History, TicTacToe.game_type: Perfect, ConnectFour.game_type: _search}
)
"""The strategy of the hard agent by game. In other turn-based games it is Careful, which plays by any rules; in games
of chance all strategies are equally strong."""


def house_agent(strength: str, game_type: str) -> Strategy:
    """Make a house agent.

    Args:
        strength: one of :data:`STRENGTHS`.
        game_type: what it will play.

    Raises:
        ValueError: there is no such strength.
    """
    if strength not in STRENGTHS:
        raise ValueError(f"{strength!r:.40} is none of {', '.join(STRENGTHS)}")
    if strength == EASY:
        return Random()
    return _HARD.get(game_type, Careful)() if strength == HARD else Careful()
