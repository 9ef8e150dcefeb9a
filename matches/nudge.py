"""Waking the conductor of this process, from any thread. Without one it is a no-op: its tick will look."""

from __future__ import annotations

from collections.abc import Callable

_wakers: list[Callable[[], None]] = []


def attach(waker: Callable[[], None]) -> Callable[[], None]:
    """Register a thread-safe callable to be called at every nudge; returns one that takes it away."""
    _wakers.append(waker)
    return lambda: _wakers.remove(waker)


def nudge() -> None:
    """Something is due: look now."""
    for waker in _wakers:
        waker()
