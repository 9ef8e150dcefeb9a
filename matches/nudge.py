"""Waking the conductor of this process, from any thread. Without one it is a no-op: its tick will look."""

from __future__ import annotations

from collections.abc import Callable

_wakers: list[Callable[[bool], None]] = []


def attach(waker: Callable[[bool], None]) -> Callable[[], None]:
    """Register a thread-safe callable to be told of every nudge, and whether it is urgent.

    Returns a callable that takes it away.
    """
    _wakers.append(waker)
    return lambda: _wakers.remove(waker)


def nudge(*, urgent: bool = True) -> None:
    """Something is due: look now, or (not urgent) with whatever else comes in the next moment."""
    for waker in _wakers:
        waker(urgent)
