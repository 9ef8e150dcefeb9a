"""From a request to a legal move: runs the strategy, and asks it once for what is asked twice."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from collections.abc import Callable
from typing import Any

from league_sdk.player.strategy import Strategy

logger = logging.getLogger("league_sdk.player")

MAX_REMEMBERED_MOVES = 256


class Decider:
    """The strategy of one player, made safe: whatever it does, a legal move comes out.

    Args:
        name: the player's, for the log.
        strategy: what decides.
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
        """A move; a request that is asked again joins the thinking that is under way.

        Args:
            key: the match id, the conversation, and what else tells this request from another.
            options: the moves allowed now.
            context: what the strategy is told.
            once: whether the game has one move a match, so that the answer stands until :meth:`forget`.
            state: what is seen of the game; None asks ``choose``, anything else ``move``.
        """
        ask = _Question(self.strategy, list(options), context, state)
        if once and key in self._moves:
            return self._moves[key]
        if self.strategy.quick and not self.think_s:
            move = self._at_once(ask, options)
        else:
            task = self._thinking.get(key)
            if task is None:
                task = self._thinking[key] = asyncio.create_task(self._think(ask, options))
                task.add_done_callback(lambda _: self._thinking.pop(key, None))
            # Shielded: a referee that hangs up and asks again finds the thought still being had.
            move = await asyncio.shield(task)
        if once:
            if len(self._moves) >= MAX_REMEMBERED_MOVES:
                self._moves.clear()
            self._moves[key] = move
        return move

    def forget(self, match_id: str) -> None:
        """A match is over: its moves no longer stand."""
        for key in [key for key in self._moves if key[0] == match_id]:
            del self._moves[key]

    def _at_once(self, ask: _Question, options: list[Any]) -> Any:
        try:
            return self._legal(ask(), ask, options)
        except Exception:
            return self._failed(ask, options)

    async def _think(self, ask: _Question, options: list[Any]) -> Any:
        done = asyncio.get_running_loop().time() + self.think_s
        try:
            if self.strategy.quick or inspect.iscoroutinefunction(ask.method):
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

    def _failed(self, ask: _Question, options: list[Any]) -> Any:
        # A student's mistake must not cost the match: it is shown, and a random move goes out.
        logger.exception("%s: %s() failed; playing at random", self.name, ask.method.__name__)
        return random.choice(options)

    def _legal(self, move: Any, ask: _Question, options: list[Any]) -> Any:
        # True equals 1, but is no column.
        if move in options and not isinstance(move, bool):
            return move
        logger.warning(
            "%s: %s() gave %r, not one of %r; playing at random", self.name, ask.method.__name__, move, options
        )
        return random.choice(options)


class _Question:
    """What a strategy is asked: ``choose`` for even or odd, ``move`` when there is a state to look at."""

    def __init__(
        self, strategy: Strategy, options: list[Any], context: dict[str, Any], state: dict[str, Any] | None
    ) -> None:
        self.method: Callable[..., Any] = strategy.choose if state is None else strategy.move
        self._arguments = (options, context) if state is None else (options, state, context)

    def __call__(self) -> Any:
        return self.method(*self._arguments)
