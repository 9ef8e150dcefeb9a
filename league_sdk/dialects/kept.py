"""Open sessions with MCP servers: each is kept for the next call, and ended with DELETE when it is not used any more.

A server keeps something for every session, so none is left open if there is time to end it. No I/O: the caller sends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from league_sdk.dialects.memory import Memory
from league_sdk.dialects.session import Session
from league_sdk.protocol.calls import Reply

CALLED_BACK = "called back"
"""The message that a call is cancelled with when its answer has come by a POST: the call worked."""
IDLE_S = 120.0
"""Seconds without a call after which a session is ended."""
END_S = 1.0
"""Seconds for the end of one session, or of all when the caller stops."""
MAX_ENDING = 50
"""Sessions that are ended at the same time."""
Delete = Callable[[str, Mapping[str, str]], Awaitable[object]]
"""Sends DELETE to an address with headers, and raises nothing."""


@dataclass(slots=True)
class _Kept:
    holder: Memory
    session: Session
    url: str
    idle_since: float


class KeptSessions:
    """The open sessions of one caller.

    Args:
        delete: sends DELETE.
        idle_s: seconds without a call after which a session is ended.
        end_s: the limit in seconds for ending all of them.
        now: monotonic seconds.
    """

    def __init__(
        self,
        delete: Delete,
        *,
        idle_s: float = IDLE_S,
        end_s: float = END_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._delete, self._idle_s, self._end_s, self._now = delete, idle_s, end_s, now
        self._kept: dict[int, _Kept] = {}
        self._tending: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[Reply]] = set()

    def __len__(self) -> int:
        return len(self._kept)

    def use(self, holder: Memory, url: str, *, limit_s: float = 0.0) -> None:
        """Note that a holder's session is used, or has just been opened, at an address; needs a running event loop.

        A session that it replaces is forgotten: its server has said that it is over. A session that an agent gave over
        its line is never ended with DELETE: the address that the agent registered may be anybody's.

        Args:
            limit_s: seconds that a call which begins now may take: so long the session is not idle.
        """
        if holder.session is None or not holder.session.id or holder.session.way:
            self._kept.pop(id(holder), None)
            return
        self._kept[id(holder)] = _Kept(holder, holder.session, url, self._now() + limit_s)
        if self._tending is None or self._tending.done():
            self._tending = asyncio.create_task(self._tend())

    async def call(self, holder: Memory, url: str, request: Coroutine[Any, Any, Reply], *, limit_s: float) -> Reply:
        """Await a request of at most ``limit_s`` seconds, in the session of a holder if it has one, at an address.

        If this is cancelled with :data:`CALLED_BACK`, the request ends by itself.
        """
        self.use(holder, url, limit_s=limit_s)
        task = asyncio.create_task(request)
        self._requests.add(task)
        task.add_done_callback(partial(self._ended, holder, url))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError as cancelled:
            if cancelled.args != (CALLED_BACK,):
                task.cancel()
            raise

    def _ended(self, holder: Memory, url: str, task: asyncio.Task[Reply]) -> None:
        self._requests.discard(task)
        self.use(holder, url)
        if not task.cancelled():
            # Retrieve the exception, so that asyncio does not log it as unhandled.
            task.exception()

    async def drop(self, holder: Memory) -> None:
        """End the session of a holder that the caller gives up."""
        await self._end([session] if (session := self._kept.get(id(holder))) is not None else [])

    async def end_idle(self) -> None:
        """End the sessions that nobody has used for ``idle_s`` seconds."""
        before = self._now() - self._idle_s
        await self._end([one for one in self._kept.values() if one.idle_since <= before])

    async def aclose(self) -> None:
        """Cancel the requests, and end all sessions, within ``end_s`` seconds."""
        for task in list(self._requests):
            task.cancel()
        await asyncio.gather(*self._requests, return_exceptions=True)
        if self._tending is not None:
            self._tending.cancel()
            await asyncio.gather(self._tending, return_exceptions=True)
        try:
            async with asyncio.timeout(self._end_s):
                await self._end(list(self._kept.values()))
        except TimeoutError:
            # Servers end them by themselves after a while.
            self._kept.clear()

    async def _tend(self) -> None:
        while self._kept:
            await asyncio.sleep(self._idle_s / 2)
            await self.end_idle()

    async def _end(self, to_end: list[_Kept]) -> None:
        for one in to_end:
            # The next call opens a new one.
            del self._kept[id(one.holder)]
            if one.holder.session == one.session:
                one.holder.session, one.holder.wants_session = None, True
        # Several holders may have had one session, such as the copies that a check makes of what it knows.
        ending = list({(one.url, one.session): one for one in to_end}.values())
        for at in range(0, len(ending), MAX_ENDING):
            batch = ending[at : at + MAX_ENDING]
            await asyncio.gather(*(self._delete(one.url, one.session.headers()) for one in batch))
