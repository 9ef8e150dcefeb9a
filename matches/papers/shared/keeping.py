"""Decides when SHARED is written: soon after a change, not too often, and never at the cost of a match."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress

from matches.papers.shared.projection import Interrupted, Projection
from matches.push import nudge
from storage.databases import outside_requests

logger = logging.getLogger(__name__)

PAUSE_S, MAX_PAUSE_S = 1.0, 30.0
"""The shortest and the longest pause after a pass."""
PAUSE_FACTOR = 10
"""The pause after a pass is this many times as long as the pass, within these bounds."""
PASS_INTERVAL_S = 10.0
"""How often a pass is made without a nudge: changes such as a notice give the conductor nothing to do."""
RETRY_S = 10.0
"""The pause after a failed pass, for example when the disk is full."""


class Keeper:
    """Keeps SHARED up to date beside a conductor.

    Args:
        projection: writes it.
        executor: a thread of its own, for files and database.
        leads: returns whether this process is the one that has to write SHARED now.
        pass_interval_s: seconds after which a pass is made although no nudge came.
        sleep, monotonic: as in asyncio and time.
    """

    def __init__(
        self,
        projection: Projection,
        executor: Executor,
        *,
        leads: Callable[[], bool],
        pass_interval_s: float = PASS_INTERVAL_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._projection, self._executor, self._leads = projection, executor, leads
        self._sleep, self._monotonic = sleep, monotonic
        self._pass_interval_s = pass_interval_s
        self._failed = ""

    async def keep(self) -> None:
        """Write until cancelled."""
        with nudge.woken() as changed:
            try:
                while True:
                    changed.clear()
                    await self._sleep(await self._once())
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._pass_interval_s):
                            await changed.wait()
            finally:
                self._projection.stop()

    async def _once(self) -> float:
        """Make a pass; returns how long to pause."""
        if not self._leads():
            return PAUSE_S
        begun = self._monotonic()
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._executor, outside_requests()(self._projection.update)
            )
        except Interrupted:
            return PAUSE_S
        except Exception as error:
            self._failed = self._tell(error)
            return RETRY_S
        if self._failed:
            logger.warning("SHARED is written again")
            self._failed = ""
        return min(max(PAUSE_S, PAUSE_FACTOR * (self._monotonic() - begun)), MAX_PAUSE_S)

    def _tell(self, error: Exception) -> str:
        """Log a failure once, with its traceback unless the disk or a folder is to blame; returns it in words."""
        words = f"{type(error).__name__}: {error}"
        if words != self._failed:
            known = isinstance(error, OSError)
            logger.warning("SHARED is not up to date, and is tried again (%s)", words, exc_info=not known)
        return words
