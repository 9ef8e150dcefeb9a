"""The counts of rate limits (``agents_registry.rate_limits.attempts``) in the memory of one process, bounded."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from limits.storage import Storage

MAX_COUNTS = 50_000
"""Per limit. Guesses never come near it, as their limits are reached long before; nor do passwords, as checking one
takes half a second."""


class ProcessCounts(Storage):
    """A bounded number of counts in this process.

    The memory storage of the library ``limits`` is not bounded, takes no clock, and starts a thread to clean up.

    Args:
        clock: seconds since the epoch.
        max_counts: how many counts are kept; beyond that the oldest are dropped.
    """

    STORAGE_SCHEME = None
    base_exceptions = ()

    def __init__(self, clock: Callable[[], float] = time.time, max_counts: int = MAX_COUNTS) -> None:
        super().__init__()
        self._clock = clock
        self._max_counts = max_counts
        self._lock = threading.Lock()
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count; a window starts with its first count and lasts ``expiry`` seconds."""
        now = self._clock()
        with self._lock:
            count, ends = self._counts.get(key, (0, 0.0))
            if ends <= now:
                self._counts.pop(key, None)
                count, ends = 0, now + expiry
            self._counts[key] = (count + amount, ends)
            while len(self._counts) > self._max_counts:
                self._counts.popitem(last=False)
            return count + amount

    def get(self, key: str) -> int:
        """The count of the current window."""
        count, ends = self._counts.get(key, (0, 0.0))
        return count if ends > self._clock() else 0

    def get_expiry(self, key: str) -> float:
        """The end of the current window, in seconds since the epoch."""
        return self._counts.get(key, (0, self._clock()))[1]

    def check(self) -> bool:
        """Return True: this storage is always available."""
        return True

    def reset(self) -> int:
        """Forget all counts."""
        with self._lock:
            count = len(self._counts)
            self._counts.clear()
        return count

    def clear(self, key: str) -> None:
        """Forget one count."""
        with self._lock:
            self._counts.pop(key, None)
