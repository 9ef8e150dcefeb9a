"""Whose page is rendered next: pages share a thread, and it must not matter to a class how many are open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Protocol


class Waits(Protocol):
    """A page that waits to be rendered."""

    @property
    def listeners(self) -> Sized:
        """Who looks at it."""

    @property
    def urgent(self) -> bool:
        """Whether it is known to have changed; otherwise it is only looked at."""


@dataclass(eq=False)
class _Place:
    page: Waits
    since: float
    turn: asyncio.Future[None]


class Turns:
    """One at a time. Pages that changed come first, and looks at the others take at most half of the time.

    Of several the one comes first for which most have waited longest: so many as look at it, times how long. A board in
    front of a class waits for no crowd of pages that one browser has open, and each of those has its turn all the same.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: list[_Place] = []
        self._taken = False
        self._looks_from = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, page: Waits) -> None:
        """Return when it is this page's turn; it has to be given back."""
        place = _Place(page, self._clock(), asyncio.get_running_loop().create_future())
        self._waiting.append(place)
        self.go_on()
        try:
            await place.turn
        except asyncio.CancelledError:
            if place in self._waiting:
                self._waiting.remove(place)
            else:
                self.give_back()
            raise

    def give_back(self, looked_s: float = 0.0) -> None:
        """The next one, please.

        Args:
            looked_s: how long it took, if it was only a look; there is none for as long again.
        """
        self._taken = False
        self._looks_from = max(self._looks_from, self._clock() + looked_s)
        self.go_on()

    def go_on(self) -> None:
        """Give the turn to whoever is next; also when a page that waits for a look has become urgent."""
        # Who goes away is on the list until it has noticed.
        waiting = [place for place in self._waiting if not place.turn.done()]
        if self._taken or not waiting:
            return
        now = self._clock()
        candidates = [place for place in waiting if place.page.urgent]
        if not candidates and now < self._looks_from:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(self._looks_from - now, self._look_again)
            return
        found = max(candidates or waiting, key=lambda place: (now - place.since) * len(place.page.listeners))
        self._waiting.remove(found)
        self._taken = True
        found.turn.set_result(None)

    def _look_again(self) -> None:
        self._timer = None
        self.go_on()
