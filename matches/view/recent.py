"""READS: a dict of bounded size, for what a process keeps of leagues."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_RESULTS = 100_000
"""The results in a cache of leagues: about 160 MB. A league of 100 players has 4,950."""
ALWAYS_KEPT = 10
"""So many leagues may be played at once without one making the others be read again from their first event."""


class Recent(OrderedDict[K, V]):
    """A dict that keeps the entries set last and drops the others.

    Reading an entry does not make it newer; setting it again does. Threads may share it, as long as they only read,
    set and :meth:`forget` single entries.

    Args:
        max_size: how many entries are kept at most; with ``weigh`` the limit on the sum of what it says of them.
        weigh: the size of a value; the :data:`ALWAYS_KEPT` entries set last are kept whatever theirs.
    """

    def __init__(self, max_size: int, weigh: Callable[[V], int] | None = None) -> None:
        super().__init__()
        self.max_size = max_size
        self._weigh = weigh
        self._lock = threading.Lock()

    def __setitem__(self, key: K, value: V) -> None:
        with self._lock:
            super().__setitem__(key, value)
            self.move_to_end(key)
            while self._is_too_large():
                self.popitem(last=False)

    def _is_too_large(self) -> bool:
        if self._weigh is None:
            return len(self) > self.max_size
        return len(self) > ALWAYS_KEPT and sum(map(self._weigh, self.values())) > self.max_size

    def forget(self, key: K) -> None:
        """Remove an entry, if it is there."""
        with self._lock:
            self.pop(key, None)
