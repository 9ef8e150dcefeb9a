"""Asks the strategy for a move, and replaces an illegal move by a random one.

A request that is repeated while the strategy thinks gets the same move; in a game with one move per match, always.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from league_sdk.player.mistakes import Mistake, Raised, describe, line_of
from league_sdk.strategies.base import Strategy

logger = logging.getLogger("league_sdk.player")

MAX_REMEMBERED_MOVES = 256
"""When there are as many, all of them are forgotten."""


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
        self.on_mistake: Callable[[Mistake], None] | None = None
        """Told of each mistake of the strategy; without it mistakes are logged as errors, with their tracebacks."""
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
        """Decide a move; a request that is repeated while the strategy thinks waits for its answer to the first one.

        Args:
            key: the match id, and whatever else distinguishes this request from others.
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
            move = self._at_once(ask, options, key[0])
        else:
            task = self._thinking.get(key)
            if task is None:
                task = self._thinking[key] = asyncio.create_task(self._think(ask, options, key[0]))
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

    def _at_once(self, ask: partial[Any], options: list[Any], match_id: str) -> Any:
        try:
            return self._legal(ask(), ask, options, match_id)
        except Exception as error:
            return self._failed(error, ask, options, match_id)

    async def _think(self, ask: partial[Any], options: list[Any], match_id: str) -> Any:
        done = asyncio.get_running_loop().time() + self.think_s
        try:
            if self.strategy.quick or inspect.iscoroutinefunction(ask.func):
                move = ask()
                if inspect.isawaitable(move):
                    move = await move
            else:
                move = await _in_thread(ask)
            move = self._legal(move, ask, options, match_id)
        except Exception as error:
            move = self._failed(error, ask, options, match_id)
        await asyncio.sleep(max(0.0, done - asyncio.get_running_loop().time()))
        return move

    def _failed(self, error: Exception, ask: partial[Any], options: list[Any], match_id: str) -> Any:
        # A mistake of the student must not lose the match: tell it and play a random move.
        name = ask.func.__name__
        self.tell(Mistake(name, describe(error), line_of(error), match_id), error)
        return random.choice(options)

    def _legal(self, move: Any, ask: partial[Any], options: list[Any], match_id: str) -> Any:
        # Reject booleans: True equals 1, but is not a move.
        if move in options and not isinstance(move, bool):
            # Return the option, not the strategy's own object: a number of another library equals it, but is no JSON.
            return options[options.index(move)]
        self.tell(Mistake(ask.func.__name__, f"gave {move!r:.80}, not one of {options!r:.80}", match_id=match_id))
        return random.choice(options)

    def tell(self, mistake: Mistake, error: Exception | None = None) -> None:
        """Log a mistake of the strategy, and report it to the callback, if there is one.

        Args:
            mistake: what was wrong.
            error: the exception, if it was one.
        """
        level = logging.ERROR if self.on_mistake is None else logging.DEBUG
        logger.log(level, "%s: %s%s", self.name, mistake, mistake.consequence, exc_info=error)
        if self.on_mistake is not None:
            self.on_mistake(mistake)


async def _in_thread(ask: Callable[[], Any]) -> Any:
    """Call ``ask`` in a thread of its own, which does not keep the process from ending if the call never returns."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not answered.cancelled():
            if error is None:
                answered.set_result(value)
            else:
                answered.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = ask()
        except BaseException as raised:
            # StopIteration cannot be raised into a future, and SystemExit would end the loop.
            error = (
                raised if isinstance(raised, Exception) and not isinstance(raised, StopIteration) else Raised(raised)
            )
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="strategy", daemon=True).start()
    return await answered
