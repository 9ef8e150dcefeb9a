"""Waking the conductor, from any thread of any process. Where none hears it, its tick will look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from matches.push import notify

_wakers: list[Callable[[bool], None]] = []
_unheard: ContextVar[bool] = ContextVar("whoever changes something looks at the rows next", default=False)


def attach(waker: Callable[[bool], None]) -> Callable[[], None]:
    """Register a thread-safe callable to be told of every nudge, and whether it is urgent.

    Returns a callable that takes it away.
    """
    _wakers.append(waker)
    return lambda: _wakers.remove(waker)


def nudge(*, urgent: bool = True) -> None:
    """Something is due: look now, or (not urgent) with whatever else comes in the next moment."""
    if not _unheard.get():
        wake(urgent=urgent)
        notify.call_conductors(urgent=urgent)


@contextmanager
def unheard() -> Iterator[None]:
    """What is changed within wakes nobody: for a look, which goes on to do itself what it has made due."""
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)


def wake(*, urgent: bool) -> None:
    """A nudge that is for this process only, such as one that came from another."""
    for waker in _wakers:
        waker(urgent)


async def hear() -> None:
    """Wake the conductor of this process when another process calls, until cancelled."""

    def wake_up(message: dict[str, object]) -> None:
        due = message["due"]
        if due and message["from"] != notify.SELF:
            wake(urgent=True in due)

    if notify.reaches_others():
        await notify.listen(wake_up)
