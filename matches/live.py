"""The only place that pushes to browsers: one message on the channel layer says which pages changed.

What is shown is rendered by each web process for the pages that someone is looking at (``hub``).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

GROUP = "live"

_lock = threading.Lock()
_pending: dict[str, set[str]] = {}
_loop: asyncio.AbstractEventLoop | None = None


def attach(loop: asyncio.AbstractEventLoop) -> None:
    """Send from this loop from now on; without one, each push makes a loop of its own."""
    global _loop  # noqa: PLW0603 - one loop per process, set once at its start
    _loop = loop


def push(league_id: str, match_ids: Iterable[str] = ()) -> None:
    """Tell every web process that a league, and these matches of it, look different now.

    Pushes that come before the loop gets to send are sent as one.
    """
    loop = _loop
    if loop is None or loop.is_closed():
        async_to_sync(_send)({league_id: set(match_ids)})
        return
    with _lock:
        first = not _pending
        _pending.setdefault(league_id, set()).update(match_ids)
    if first:
        loop.call_soon_threadsafe(lambda: loop.create_task(_flush()))


async def _flush() -> None:
    with _lock:
        leagues = dict(_pending)
        _pending.clear()
    await _send(leagues)


async def _send(leagues: dict[str, set[str]]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        changes = {league: sorted(matches) for league, matches in leagues.items()}
        await layer.group_send(GROUP, {"type": "live.changed", "leagues": changes})
