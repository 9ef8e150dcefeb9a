"""Counts of attempts that one process keeps, as many as fit (``agents_registry.attempts``)."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from limits.storage import Storage

MOST_KEPT = 50_000
"""Of each limit; the limits on guesses and passwords never come near it, because so many are not looked at."""


class KeptHere(Storage):
    """Counts in this process: at most ``most`` of them, the oldest go first.

    The library's own memory has neither a bound nor a clock to be given, and starts a thread to clean up.

    Args:
        clock: seconds since the epoch.
        most: how many counts are kept.
    """

    STORAGE_SCHEME = None
    base_exceptions = ()

    def __init__(self, clock: Callable[[], float] = time.time, most: int = MOST_KEPT) -> None:
        super().__init__()
        self._clock = clock
        self._most = most
        self._lock = threading.Lock()
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count; a window begins with the first one in it and lasts ``expiry`` seconds."""
        now = self._clock()
        with self._lock:
            count, ends = self._counts.get(key, (0, 0.0))
            if ends <= now:
                self._counts.pop(key, None)
                count, ends = 0, now + expiry
            self._counts[key] = (count + amount, ends)
            while len(self._counts) > self._most:
                self._counts.popitem(last=False)
            return count + amount

    def get(self, key: str) -> int:
        """How many were counted in the window that is open."""
        count, ends = self._counts.get(key, (0, 0.0))
        return count if ends > self._clock() else 0

    def get_expiry(self, key: str) -> float:
        """When its window ends."""
        return self._counts.get(key, (0, self._clock()))[1]

    def is_empty(self) -> bool:
        """Whether nothing was counted."""
        return not self._counts

    def check(self) -> bool:
        """It is always there."""
        return True

    def reset(self) -> int:
        """Forget everything."""
        with self._lock:
            count = len(self._counts)
            self._counts.clear()
        return count

    def clear(self, key: str) -> None:
        """Forget one."""
        with self._lock:
            self._counts.pop(key, None)
