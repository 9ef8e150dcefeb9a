"""When the conductor looks: at an urgent nudge at once, at another in a moment, and in any case at the next tick."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from matches.push import nudge

logger = logging.getLogger(__name__)

TICK_S = 0.5
BREATH_S = 0.001
"""Between two looks, so that what comes together is handled together."""
MOMENT_S = 0.05
"""What is not urgent waits so long for company."""
ASLEEP_S = 3.0
"""A pause between looks longer than this means that we were stopped ourselves."""


class Waker:
    """Wakes one conductor for its next look.

    Attributes:
        matches_wait: whether matches wait for room; only to them it is of use that a match is over.
    """

    def __init__(self) -> None:
        self.matches_wait = True
        self._due = asyncio.Event()
        self._soon: asyncio.TimerHandle | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within it nudges of any thread are heard; entered on the event loop of the conductor."""
        loop = asyncio.get_running_loop()

        def heard(urgent: bool) -> None:
            # Who is awake, or about to be, has its look before it: waking it once more costs a call of the system.
            if not self._due.is_set() and (urgent or (self.matches_wait and self._soon is None)):
                loop.call_soon_threadsafe(self.wake, urgent)

        detach = nudge.attach(heard)
        try:
            yield
        finally:
            detach()
            self.begin()

    def wake(self, urgent: bool = True) -> None:
        """A look is due: now, or (not urgent) in a moment."""
        if urgent:
            self._due.set()
        elif self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(MOMENT_S, self._due.set)

    def begin(self) -> None:
        """A look begins. What happens from here on, it may have read too early to see."""
        self._due.clear()
        self.matches_wait = True
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    async def wait(self) -> None:
        """Until the next look is due: for a tick at most."""
        try:
            async with asyncio.timeout(TICK_S):
                await self._due.wait()
        except TimeoutError:
            logger.debug("tick")
        await asyncio.sleep(BREATH_S)


class Looks:
    """When the rows were looked at last, by the clock of the process and by that of the wall."""

    def __init__(self) -> None:
        self._at = self._at_clock = 0.0

    def made(self) -> float:
        """One was made now; returns now, in seconds since the epoch."""
        self._at, self._at_clock = time.monotonic(), time.time()
        return self._at_clock

    @property
    def recent(self) -> bool:
        """Whether there was one within the last few seconds."""
        return time.monotonic() - self._at < 10 * TICK_S

    def slept_s(self) -> float:
        """Seconds since the last one, by the clock that saw more: one stands still while a laptop sleeps.

        Below 0: the clock was set back by so many, and what was written by it lies that much too far ahead.
        """
        if not self._at:
            return 0.0
        passed, by_clock = time.monotonic() - self._at, time.time() - self._at_clock
        return by_clock - passed if by_clock - passed < -ASLEEP_S else max(passed, by_clock)
