"""A time limit for a call that does not count our own delay against the other side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MAX_GRACE_S = 0.5
"""Reading what has arrived takes no longer, however long this process stood still."""


@asynccontextmanager
async def within(limit_s: float) -> AsyncIterator[None]:
    """Let the body run for ``limit_s`` seconds, then end it with ``TimeoutError``.

    If the event loop notices the deadline late, a reply may have arrived in time and be unread. So the body gets as
    much more time as the loop was late, at most :data:`MAX_GRACE_S`.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s

    def expire() -> None:
        now = loop.time()
        timer.reschedule(now + min(now - deadline, MAX_GRACE_S))

    async with asyncio.timeout(None) as timer:
        handle = loop.call_at(deadline, expire)
        try:
            yield
        finally:
            handle.cancel()
