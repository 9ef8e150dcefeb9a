"""How a player decides: override one method a kind of game and play (004 3.8, 5.2, 9.4.4)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from league_sdk.protocol.errors import LeagueError
from league_sdk.rules import even_odd
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import games


class Strategy:
    """What a student writes: a subclass with its own :meth:`choose`, or :meth:`move`, or both.

    What is not overridden plays at random, so that every player can play every game.

    Attributes:
        quick: True if neither method ever waits for anything. They are then called on the event loop of the player's
            server; those of any other strategy in a thread, so that a slow one does not keep the player from answering.
        game_types: the games the player registers for; empty for every game that is installed.
    """

    quick = False
    game_types: tuple[str, ...] = ()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        """Pick even or odd (game type ``even_odd``); may be written as ``async def`` too.

        Args:
            options: what is allowed now, such as ``["even", "odd"]``.
            context: what is known: ``match_id``, ``game_type``, ``opponent_id``, ``round_id``, ``deadline``,
                ``your_standings`` and all else that the referee sent in its ``context``; ``numbers_drawn``,
                every number seen so far, and ``history``, the matches played (004 9.4.4).

        Returns:
            One of ``options``. For anything else, or an error, the player falls back to a random one.
        """
        return random.choice(options)

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        """Pick a move of any other game (GAME_MOVE_CALL, 004 3.8.2); may be written as ``async def`` too.

        Args:
            options: the moves allowed now: cells 0 to 8, columns 0 to 6, numbers 1 to 5.
            state: what we may see of the game, as its rules show it. Games on a board have ``board`` (rows of
                cells, each ``"X"``, ``"O"`` or empty), ``your_mark``, ``moves`` in order and ``last_move``.
            context: as in :meth:`choose`; ``game_type`` says which game it is.

        Returns:
            One of ``options``. For anything else, or an error, the player falls back to a random one.
        """
        return random.choice(options)

    def on_result(self, result: dict[str, Any]) -> None:
        """Called after each match with its row of the history (``result`` is WIN, LOSS or DRAW)."""

    def on_message(self, message: dict[str, Any]) -> None:
        """Called with every message that asks for nothing: rounds, tables, errors, the end."""


class Random(Strategy):
    """Any of the allowed moves, each equally likely.

    Args:
        rng: where the chance comes from.
    """

    quick = True

    def __init__(self, rng: random.Random | None = None) -> None:
        self.rng = rng or random.Random()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return self.rng.choice(options)

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        return self.rng.choice(options)


class AlwaysEven(Random):
    """Always ``"even"``."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return "even"


class AlwaysOdd(Random):
    """Always ``"odd"``."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return "odd"


class History(Random):
    """The parity that was drawn more often so far; a random one if both were drawn equally often.

    It wins no more often than :class:`Random`, because the draws are independent of each other: students may find this
    out with it (ruling, section 7).
    """

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        drawn = [even_odd.parity(number) for number in context["numbers_drawn"]]
        lead = drawn.count("even") - drawn.count("odd")
        if lead == 0:
            return self.rng.choice(options)
        return "even" if lead > 0 else "odd"


class Careful(Random):
    """Wins if it can, keeps the other from winning next, else plays near the middle; for games in turns.

    It needs no knowledge of the game but its rules: it tries every move, and every answer to it. A game that
    is not installed here, or does not show its ``players`` and ``moves``, it plays at random.
    """

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        position = self._position(context.get("game_type"), state)
        if position is None:
            return self.rng.choice(options)
        game, table = position
        (us,) = game.to_move(table)
        after = {option: game.apply(table, us, option) for option in options}
        winning = [option for option in options if self._won(game, after[option], us)]
        safe = [option for option in options if not self._other_wins_next(game, after[option])]
        candidates = winning or safe or options
        middle = (options[0] + options[-1]) / 2 if all(isinstance(option, int) for option in options) else None
        if middle is None:
            return self.rng.choice(candidates)
        nearest = min(abs(option - middle) for option in candidates)
        return self.rng.choice([option for option in candidates if abs(option - middle) == nearest])

    @staticmethod
    def _position(game_type: object, state: Mapping[str, Any]) -> tuple[Game, State] | None:
        """The game, and its state after the moves that the referee showed; None if it cannot be computed."""
        game = games().get(game_type) if isinstance(game_type, str) else None
        if game is None or game.hidden:
            return None
        try:
            first, second = state["players"]
            table = game.new_state((first, second))
            for made in state["moves"]:
                (mover,) = game.to_move(table)
                table = game.apply(table, mover, made)
        except (KeyError, TypeError, ValueError, LeagueError):
            return None
        return (game, table) if len(game.to_move(table)) == 1 else None

    @staticmethod
    def _won(game: Game, table: State, player: str) -> bool:
        outcome = game.outcome(table)
        return outcome is not None and outcome.winner == player

    def _other_wins_next(self, game: Game, table: State) -> bool:
        return any(
            self._won(game, game.apply(table, other, answer), other)
            for other in game.to_move(table)
            for answer in game.options(table, other)
        )


STRATEGIES: Mapping[str, type[Strategy]] = {
    "random": Random,
    "even": AlwaysEven,
    "odd": AlwaysOdd,
    "history": History,
    "careful": Careful,
}
"""The strategies by the names that the command line takes."""
