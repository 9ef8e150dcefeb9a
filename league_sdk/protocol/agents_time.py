"""Counts the time that this process spends on reading what agents send.

An agent decides how much it sends, so this time is no delay of ours (ruling, section 12; decision 9).
"""

from __future__ import annotations

import time
from contextlib import ContextDecorator


class AgentsTime(ContextDecorator):
    """Counts while it is entered; a decorator of functions that read what agents send.

    These do not call each other, and they are no coroutines: other work would count as well.

    Attributes:
        total_s: the seconds of processor time so far: while this process stands still, or waits for a processor that
            others use, no agent costs it anything.
    """

    def __init__(self) -> None:
        self.total_s = 0.0
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begun = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.total_s += time.thread_time() - self._begun


AGENTS_TIME = AgentsTime()
"""That of this process; only the thread of a referee's event loop reads what agents send."""
