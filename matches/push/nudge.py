"""Wake the conductor from any thread of any process. If a nudge is lost, the conductor looks at its next tick."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from matches.push import notify

_wakers: list[Callable[[bool], None]] = []
_suppressed: ContextVar[bool] = ContextVar("whether nudges are suppressed", default=False)


def attach(waker: Callable[[bool], None]) -> Callable[[], None]:
    """Register a thread-safe callback for every nudge; its argument is whether the nudge is urgent.

    Returns a function that unregisters it.
    """
    _wakers.append(waker)
    return lambda: _wakers.remove(waker)


@contextmanager
def woken(*, only_urgent: bool = False) -> Iterator[asyncio.Event]:
    """An event that nudges set while the context lasts; to be entered on the event loop that waits for it."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()

    def wake(urgent: bool) -> None:
        # Skip if it is set already: each wake-up costs a system call.
        if (urgent or not only_urgent) and not event.is_set():
            loop.call_soon_threadsafe(event.set)

    detach = attach(wake)
    try:
        yield event
    finally:
        detach()


def nudge(*, urgent: bool = True) -> None:
    """Have the conductor look: at once, or, if not urgent, after a short delay together with other nudges."""
    if not _suppressed.get():
        wake(urgent=urgent)
        notify.call_conductors(urgent=urgent)


@contextmanager
def suppressed() -> Iterator[None]:
    """Suppress nudges within the context: for a look, which itself goes on to do what its changes make due."""
    token = _suppressed.set(True)
    try:
        yield
    finally:
        _suppressed.reset(token)


def wake(*, urgent: bool) -> None:
    """Wake the conductor of this process only, for example after a call of another process."""
    for waker in _wakers:
        waker(urgent)


async def hear() -> None:
    """Wake the conductor of this process whenever another process calls, until cancelled."""

    def wake_up(message: dict[str, Any]) -> None:
        due = message["due"]
        if due and message["from"] != notify.PROCESS_ID:
            wake(urgent=True in due)

    if notify.reaches_others():
        await notify.listen(wake_up)
