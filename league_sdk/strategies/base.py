"""How a player decides: override one method for each kind of game and play (004 3.8, 5.2, 9.4.4).

The strategies that come with the SDK are in ``league_sdk/strategies``.
"""

from __future__ import annotations

import random
from typing import Any


class NotSetUp(Exception):
    """A strategy cannot be made as this machine is set up; the text says what is missing."""


class Strategy:
    """What a student writes: a subclass with its own :meth:`choose`, or :meth:`move`, or both.

    What is not overridden plays at random, so that every player can play every game.

    Attributes:
        quick: True if neither method ever waits for anything. They are then called on the event loop of the player's
            server. Methods of any other strategy that are not ``async def`` are called in a thread, so that a slow one
            does not keep the player from answering.
        game_types: the games the player registers for; empty for every game that is installed.
    """

    quick = False
    game_types: tuple[str, ...] = ()

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        """Pick even or odd (game type ``even_odd``); may be written as ``async def`` too.

        Args:
            options: what is allowed now, such as ``["even", "odd"]``.
            context: what is known: ``match_id``, ``game_type``, ``player_id``, ``opponent_id``, ``round_id``,
                ``deadline``, ``timestamp`` (when the referee asked, by its clock), ``your_standings`` and all else that
                the referee sent in its ``context``; ``numbers_drawn``, every number seen so far, and ``history``, the
                matches played (004 9.4.4).

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
        """Called after each GAME_OVER with its row of the history; ``result`` is WIN, LOSS, DRAW or CANCELLED.

        The row of a cancelled match is not kept.
        """

    def on_message(self, message: dict[str, Any]) -> None:
        """Called with every other message that asks for nothing: rounds, tables, errors, the end of the league."""
