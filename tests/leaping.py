"""An event loop without real waits: when every task sleeps, its clock leaps to the time when the first one wakes."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Returns what is ready; instead of waiting for a timer it counts the seconds that it would have waited."""

    leapt_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Without a timer only an event from outside can wake the loop, so it has to be waited for.
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout is not None:
            self.leapt_s += max(timeout, 0.0)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._leaping = _Selector()
        super().__init__(self._leaping)

    def time(self) -> float:
        return super().time() + self._leaping.leapt_s


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that uses no sockets and no threads, without the waits in it; returns what it returns."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
