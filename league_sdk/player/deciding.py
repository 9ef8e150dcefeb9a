"""Asks the strategy for a move, once for a repeated request, and replaces an illegal move by a random one."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from functools import partial
from typing import Any

from league_sdk.player.strategy import Strategy

logger = logging.getLogger("league_sdk.player")

MAX_REMEMBERED_MOVES = 256


class Decider:
    """Asks the strategy of one player; the result is always a legal move.

    Args:
        name: the player's name, for the log.
        strategy: the strategy that is asked.
        think_s: seconds that every choice takes at least, so that people can watch.
    """

    def __init__(self, name: str, strategy: Strategy, think_s: float) -> None:
        self.name = name
        self.strategy = strategy
        self.think_s = think_s
        self._moves: dict[tuple[str, ...], Any] = {}
        self._thinking: dict[tuple[str, ...], asyncio.Task[Any]] = {}

    async def decide(
        self,
        key: tuple[str, ...],
        options: list[Any],
        context: dict[str, Any],
        *,
        once: bool,
        state: dict[str, Any] | None = None,
    ) -> Any:
        """Decide a move; a repeated request waits for the strategy's answer to the first one.

        Args:
            key: the match id, the conversation id, and whatever else distinguishes this request from others.
            options: the allowed moves.
            context: passed on to the strategy.
            once: whether the game has one move per match; the move is then kept until :meth:`forget`.
            state: what the player may see of the game; None calls ``choose``, anything else ``move``.
        """
        if once and key in self._moves:
            return self._moves[key]
        ask = partial(self.strategy.choose, list(options), context)
        if state is not None:
            ask = partial(self.strategy.move, list(options), state, context)
        if self.strategy.quick and not self.think_s:
            move = self._at_once(ask, options)
        else:
            task = self._thinking.get(key)
            if task is None:
                task = self._thinking[key] = asyncio.create_task(self._think(ask, options))
                task.add_done_callback(lambda _: self._thinking.pop(key, None))
            # Shielded: if the referee hangs up and asks again, the strategy must still be running.
            move = await asyncio.shield(task)
        if once:
            if len(self._moves) >= MAX_REMEMBERED_MOVES:
                self._moves.clear()
            self._moves[key] = move
        return move

    def forget(self, match_id: str) -> None:
        """Forget the moves of a match that is over."""
        for key in [key for key in self._moves if key[0] == match_id]:
            del self._moves[key]

    def _at_once(self, ask: partial[Any], options: list[Any]) -> Any:
        try:
            return self._legal(ask(), ask, options)
        except Exception:
            return self._failed(ask, options)

    async def _think(self, ask: partial[Any], options: list[Any]) -> Any:
        done = asyncio.get_running_loop().time() + self.think_s
        try:
            if self.strategy.quick or inspect.iscoroutinefunction(ask.func):
                move = ask()
                if inspect.isawaitable(move):
                    move = await move
            else:
                move = await asyncio.to_thread(ask)
            move = self._legal(move, ask, options)
        except Exception:
            move = self._failed(ask, options)
        await asyncio.sleep(max(0.0, done - asyncio.get_running_loop().time()))
        return move

    def _failed(self, ask: partial[Any], options: list[Any]) -> Any:
        # A mistake of the student must not lose the match: log it and play a random move.
        logger.exception("%s: %s() failed; playing at random", self.name, ask.func.__name__)
        return random.choice(options)

    def _legal(self, move: Any, ask: partial[Any], options: list[Any]) -> Any:
        # Reject booleans: True equals 1, but is not a move.
        if move in options and not isinstance(move, bool):
            return move
        name = ask.func.__name__
        logger.warning("%s: %s() gave %r, not one of %r; playing at random", self.name, name, move, options)
        return random.choice(options)
