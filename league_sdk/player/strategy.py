"""How a player decides: override one method and play (004 5.2, 9.4.4)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from league_sdk.rules import even_odd
from league_sdk.rules.registry import games


class Strategy:
    """What a student writes: a subclass with its own :meth:`choose`.

    Attributes:
        quick: True when ``choose`` never waits for anything. It then runs on the server's own loop;
            any other runs in a thread, so that a slow model does not keep the player from answering.
        game_types: the games the player registers for.
    """

    quick = False
    game_types: tuple[str, ...] = (even_odd.EvenOdd.game_type,)

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        """Pick a move; may be written as ``async def`` too.

        Args:
            options: what is allowed now, such as ``["even", "odd"]``.
            context: what is known: ``match_id``, ``game_type``, ``opponent_id``, ``round_id``, ``deadline``,
                ``your_standings`` and all else that the referee sent in its ``context``; ``numbers_drawn``,
                every number seen so far, and ``history``, the matches played (004 9.4.4).

        Returns:
            One of ``options``. For anything else, or an error, the player falls back to a random one.
        """
        raise NotImplementedError

    def on_result(self, result: dict[str, Any]) -> None:
        """Called after each match with its row of the history (``result`` is WIN, LOSS or DRAW)."""

    def on_message(self, message: dict[str, Any]) -> None:
        """Called with every message that asks for nothing: rounds, tables, errors, the end."""


class Random(Strategy):
    """Any of the allowed moves, each equally likely; plays every game that is installed."""

    quick = True

    def __init__(self, rng: random.Random | None = None) -> None:
        self.rng = rng or random.Random()
        self.game_types = tuple(games())

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return self.rng.choice(options)


class AlwaysEven(Strategy):
    """Always ``"even"``."""

    quick = True

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return "even"


class AlwaysOdd(Strategy):
    """Always ``"odd"``."""

    quick = True

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return "odd"


class History(Strategy):
    """The parity that was drawn more often so far; a coin when it is even between them.

    The draws are independent, so this wins no more often than Random: which is the lesson (004 3.6).
    """

    quick = True

    def __init__(self, rng: random.Random | None = None) -> None:
        self.rng = rng or random.Random()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        drawn = [even_odd.parity(number) for number in context["numbers_drawn"]]
        lead = drawn.count("even") - drawn.count("odd")
        if lead == 0:
            return self.rng.choice(options)
        return "even" if lead > 0 else "odd"


STRATEGIES: Mapping[str, type[Strategy]] = {
    "random": Random,
    "even": AlwaysEven,
    "odd": AlwaysOdd,
    "history": History,
}
"""By the names of the command line."""
