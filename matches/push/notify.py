"""The only place that speaks to the site's other processes: which pages changed, and that something is due.

What is shown is rendered by each web process for the pages that someone is looking at (``hub``). Messages may be lost
(Redis goes away, a process is killed): hubs and conductors look at the rows regularly anyway.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

logger = logging.getLogger(__name__)

GROUP = "live"
SEND_LIMIT_S = 2.0
"""For one message to the channel layer; what comes meanwhile waits, as one message, for the next."""
GATHER_S = 0.02
"""What comes so close behind a message goes as one, unless it is urgent; a page is rendered more seldom than that."""
AGAIN_S = (0.5, 5.0)
"""Between two tries to subscribe: the first pause, and the longest."""
OUTAGE_SAID_S = 30.0
SELF = uuid.uuid4().hex
"""This process, so that it does not hear of its own calls twice."""

_lock = threading.Lock()
_pending: dict[str, set[str]] = {}
_due: set[bool] = set()
_loop: asyncio.AbstractEventLoop | None = None
_sending_on: asyncio.AbstractEventLoop | None = None
_failed = False


class _Brief(logging.Filter):
    """While Redis is gone the channel layer logs a traceback every second: one line now and then says as much."""

    _said_at = -OUTAGE_SAID_S

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info is None:
            return True
        record.msg, record.args = "no connection to the channel layer: %s", (record.exc_info[1],)
        record.exc_info = record.exc_text = None
        now = time.monotonic()
        again = now - self._said_at >= OUTAGE_SAID_S
        self._said_at = now if again else self._said_at
        return again


_brief = _Brief()


def attach(loop: asyncio.AbstractEventLoop) -> None:
    """Send from this loop from now on; without one, each push makes a loop of its own."""
    global _loop  # noqa: PLW0603 - one loop per process, set once at its start
    _loop = loop
    logging.getLogger("channels_redis.pubsub").addFilter(_brief)


def push(league_id: str, match_ids: Iterable[str] = ()) -> None:
    """Tell every web process that a league, and these matches of it, look different now.

    Pushes that come before the loop gets to send are sent as one.
    """
    loop = _loop
    if loop is None or loop.is_closed():
        async_to_sync(_send)({league_id: set(match_ids)}, set())
        return
    with _lock:
        _pending.setdefault(league_id, set()).update(match_ids)
    _send_soon(loop)


def call_conductors(*, urgent: bool) -> None:
    """Tell the conductors of other processes that something is due; without a layer that reaches them, nothing."""
    loop = _loop
    if loop is None or loop.is_closed() or not reaches_others():
        return
    with _lock:
        _due.add(urgent)
    _send_soon(loop)


def reaches_others() -> bool:
    """Whether the channel layer has other processes on it."""
    return not isinstance(get_channel_layer(), InMemoryChannelLayer)


def _send_soon(loop: asyncio.AbstractEventLoop) -> None:
    global _sending_on  # noqa: PLW0603 - one sender per process
    with _lock:
        if _sending_on is loop:
            return
        _sending_on = loop
    loop.call_soon_threadsafe(lambda: loop.create_task(_flush()))


async def _flush() -> None:
    """Send what is pending, one message at a time, until nothing is."""
    global _sending_on  # noqa: PLW0603 - one sender per process
    while True:
        with _lock:
            leagues, due = dict(_pending), set(_due)
            _pending.clear()
            _due.clear()
            if not (leagues or due):
                _sending_on = None
                return
        await _send(leagues, due)
        if True not in _due:
            # Until then nobody has to wake this loop for a change, which costs both threads more than the message.
            await asyncio.sleep(GATHER_S)


async def _send(leagues: dict[str, set[str]], due: set[bool]) -> None:
    global _failed  # noqa: PLW0603 - an outage is told once, at its beginning
    layer = get_channel_layer()
    if layer is None:
        return
    changes = {league: sorted(matches) for league, matches in leagues.items()}
    message = {"type": "live.changed", "leagues": changes, "due": sorted(due), "from": SELF}
    try:
        async with asyncio.timeout(SEND_LIMIT_S):
            await layer.group_send(GROUP, message)
        _failed = False
    except Exception as error:
        # Whatever it is: the change is made, and regular looks show it.
        if not _failed:
            logger.warning("the channel layer took no message (%s): pages and conductors look themselves", _why(error))
        _failed = True


def _why(error: Exception) -> str:
    """In words. What redis shows of its errors has their kind only, and a time that is over has no words."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def listen(hear: Callable[[dict[str, Any]], None]) -> None:
    """Hear every message until cancelled; subscribes again after a failure.

    Args:
        hear: is given ``leagues``: their ids, each with the ids of matches; ``due``: whether conductors were called,
            urgently or not; ``from``: the process.
    """
    layer = get_channel_layer()
    if layer is None:
        return
    pause = AGAIN_S[0]
    while True:
        try:
            channel = await layer.new_channel("live")
            await layer.group_add(GROUP, channel)
            pause = AGAIN_S[0]
            while True:
                hear(await layer.receive(channel))
        except Exception as error:
            # Redis is not there yet, or went away.
            logger.warning("the channel layer failed (%s): subscribing again in %.1f s", _why(error), pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, AGAIN_S[1])
