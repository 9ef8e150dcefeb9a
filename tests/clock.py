"""Time that passes when a test says so."""

from __future__ import annotations


class Clock:
    """Seconds, read by a call and set by a test.

    Attributes:
        now: the seconds at present.
    """

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
