"""A limit on a call's time that does not count against the other side what this side was late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST_GRACE_S = 0.5
"""Reading what has come takes no longer, however long this process stood still."""


@asynccontextmanager
async def within(limit_s: float) -> AsyncIterator[None]:
    """Let the body run for so long; then end it with ``TimeoutError``.

    When the event loop notices the end late, an answer may have come in time and lie unread. As late as we were,
    so long it is still read, half a second at most; a punctual loop gives nothing.

    Args:
        limit_s: seconds.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + limit_s

    def over() -> None:
        now = loop.time()
        timer.reschedule(now + min(now - due, MOST_GRACE_S))

    async with asyncio.timeout(None) as timer:
        handle = loop.call_at(due, over)
        try:
            yield
        finally:
            handle.cancel()
