"""Decides when the conductor looks: at once after an urgent nudge, soon after another one, and at every tick."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from matches.push import nudge
from storage import clock

logger = logging.getLogger(__name__)

TICK_S = 0.5
LOOK_PAUSE_S = 0.001
"""A pause between two looks, so that one look handles nudges that come together."""
DEBOUNCE_S = 0.05
"""How long a nudge that is not urgent waits for others."""
MIN_SUSPENSION_S = 3.0
"""A longer time than this between two looks means that this process was suspended."""


class Waker:
    """Wakes one conductor for its next look.

    Attributes:
        matches_wait: whether matches wait for room at a referee. Only then the end of a match is a reason to look.
    """

    def __init__(self) -> None:
        self.matches_wait = True
        self._due = asyncio.Event()
        self._soon: asyncio.TimerHandle | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Receive nudges of any thread within the context; to be entered on the conductor's event loop."""
        loop = asyncio.get_running_loop()

        def wake(urgent: bool) -> None:
            # Skip if a look is pending already: each wake-up costs a system call.
            if not self._due.is_set() and (urgent or (self.matches_wait and self._soon is None)):
                loop.call_soon_threadsafe(self.wake, urgent)

        detach = nudge.attach(wake)
        try:
            yield
        finally:
            detach()
            self.begin()

    def wake(self, urgent: bool = True) -> None:
        """Have a look made: now, or, if not urgent, after a short delay."""
        if urgent:
            self._due.set()
        elif self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(DEBOUNCE_S, self._due.set)

    def begin(self) -> None:
        """Forget the nudges so far: a look begins. It may miss what changes from now on, so later nudges count."""
        self._due.clear()
        self.matches_wait = True
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    async def wait(self) -> None:
        """Wait until the next look is due, for a tick at most."""
        try:
            async with asyncio.timeout(TICK_S):
                await self._due.wait()
        except TimeoutError:
            logger.debug("tick")
        await asyncio.sleep(LOOK_PAUSE_S)


def _wall_s() -> float:
    return clock.now().timestamp()


class Looks:
    """The time of the last look, by the monotonic clock and by the wall clock.

    Args:
        monotonic, wall: these clocks, in seconds; the wall clock since the epoch.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = _wall_s) -> None:
        self._monotonic, self._wall = monotonic, wall
        self._made_at = self._made_at_wall = 0.0

    def made(self) -> float:
        """Note that a look was made now; returns the time in seconds since the epoch."""
        self._made_at, self._made_at_wall = self._monotonic(), self._wall()
        return self._made_at_wall

    @property
    def recent(self) -> bool:
        """Whether the last look was a few seconds ago at most."""
        return self._monotonic() - self._made_at < 10 * TICK_S

    def slept_s(self) -> float:
        """Seconds since the last look, by the clock that advanced more: one stands still while a laptop sleeps.

        Below 0 if the wall clock was set back by this many seconds: leases written before end that much too late.
        """
        if not self._made_at:
            return 0.0
        passed, by_clock = self._monotonic() - self._made_at, self._wall() - self._made_at_wall
        return by_clock - passed if by_clock - passed < -MIN_SUSPENSION_S else max(passed, by_clock)
