"""Which page is rendered next: all pages share a thread, and a class must not notice how many others are open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Protocol


class WaitingPage(Protocol):
    """What the scheduler knows of a page."""

    @property
    def listeners(self) -> Sized:
        """The sockets that show the page."""

    @property
    def urgent(self) -> bool:
        """Whether the page is known to have changed; if not, it is rendered just in case (a refresh)."""


@dataclass(eq=False)
class _Waiter:
    page: WaitingPage
    since: float
    turn: asyncio.Future[None]


class Turns:
    """A priority queue of the pages to render, one at a time.

    Pages that changed come first; refreshes of the others take at most half of the time. The priority of a page is the
    number of its listeners times its waiting time. So the board in front of a class does not wait for the many pages of
    a single browser, and each of those still gets its turn.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: list[_Waiter] = []
        self._taken = False
        self._refreshes_from = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, page: WaitingPage) -> None:
        """Return when it is the page's turn; the caller must call :meth:`give_back` afterwards."""
        waiter = _Waiter(page, self._clock(), asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self.go_on()
        try:
            await waiter.turn
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            else:
                self.give_back()
            raise

    def give_back(self, refresh_s: float = 0.0) -> None:
        """End a turn, and give the next one.

        Args:
            refresh_s: how long the turn took if it was a refresh; no refresh follows for the same time. 0 otherwise.
        """
        self._taken = False
        self._refreshes_from = max(self._refreshes_from, self._clock() + refresh_s)
        self.go_on()

    def go_on(self) -> None:
        """Give the turn to the next page; called also when a waiting page has become urgent."""
        # A cancelled waiter stays in the list until its task runs.
        waiting = [waiter for waiter in self._waiting if not waiter.turn.done()]
        if self._taken or not waiting:
            return
        now = self._clock()
        candidates = [waiter for waiter in waiting if waiter.page.urgent]
        if not candidates and now < self._refreshes_from:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(self._refreshes_from - now, self._after_pause)
            return
        chosen = max(candidates or waiting, key=lambda waiter: (now - waiter.since) * len(waiter.page.listeners))
        self._waiting.remove(chosen)
        self._taken = True
        chosen.turn.set_result(None)

    def _after_pause(self) -> None:
        self._timer = None
        self.go_on()
