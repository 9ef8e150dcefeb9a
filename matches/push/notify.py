"""The only place that tells the site's other processes which pages changed, and that the conductor has work.

Each web process renders the pages that its browsers show (``hub``). Messages may be lost (Redis is away, a process is
killed): hubs and conductors look at the rows regularly anyway.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

logger = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]

GROUP = "live"
SEND_TIMEOUT_S = 2.0
"""The time limit of sending one message. Changes that come meanwhile are sent together afterwards."""
BATCH_INTERVAL_S = 0.02
"""The pause between two messages: changes that come within it are sent as one message. There is no pause if an urgent
call came while the last message was sent. It is shorter than the spacing of a page's renderings (``hub.Pace``)."""
RESUBSCRIBE_BACKOFF_S = (0.5, 5.0)
"""The first and the longest pause between two tries to subscribe."""
OUTAGE_LOG_INTERVAL_S = 30.0
PROCESS_ID = uuid.uuid4().hex
"""Identifies this process, so that it ignores its own messages."""


class _Brief(logging.Filter):
    """Shortens the traceback that the channel layer logs every second while Redis is away to a line now and then."""

    _logged_at = -OUTAGE_LOG_INTERVAL_S

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info is None:
            return True
        record.msg, record.args = "no connection to the channel layer: %s", (record.exc_info[1],)
        record.exc_info = record.exc_text = None
        now = time.monotonic()
        again = now - self._logged_at >= OUTAGE_LOG_INTERVAL_S
        self._logged_at = now if again else self._logged_at
        return again


_brief = _Brief()


class Outgoing:
    """What this process has to tell the others, gathered from any thread and sent one message at a time.

    Args:
        loop: the loop to send from. Without one, each push makes a loop of its own, and no conductor is called.
        sleep: waits for this many seconds.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._loop = loop
        self._sleep = sleep
        self._lock = threading.Lock()
        self._leagues: dict[str, set[str]] = {}
        self._results: set[str] = set()
        self._due: set[bool] = set()
        self._sending = False

    def put(self, leagues: dict[str, set[str]], due: set[bool], *, results: Collection[str] = ()) -> None:
        """Send a message soon. What comes before the loop gets to send is sent as one message.

        Args:
            leagues: the leagues that look different now, each with the ids of its matches that do.
            due: whether conductors are called: True for an urgent call, False for another one; empty for none.
            results: those of the leagues in which a match has ended.
        """
        loop = self._loop
        if loop is None or loop.is_closed():
            if leagues:
                async_to_sync(self._send)(leagues, set(), results)
            return
        with self._lock:
            for league_id, match_ids in leagues.items():
                self._leagues.setdefault(league_id, set()).update(match_ids)
            self._results.update(results)
            self._due |= due
            if self._sending:
                return
            self._sending = True
        loop.call_soon_threadsafe(lambda: loop.create_task(self._flush()))

    async def _flush(self) -> None:
        """Send what is pending, one message at a time, until nothing is."""
        while True:
            with self._lock:
                leagues, due, results = self._leagues, self._due, self._results
                self._leagues, self._due, self._results = {}, set(), set()
                if not (leagues or due):
                    self._sending = False
                    return
            await self._send(leagues, due, results)
            if True not in self._due:
                # During the pause no change has to wake this loop, which would cost more than the message itself.
                await self._sleep(BATCH_INTERVAL_S)

    async def _send(self, leagues: dict[str, set[str]], due: set[bool], results: Collection[str]) -> None:
        changes = {league: sorted(matches) for league, matches in leagues.items()}
        message = {
            "type": "live.changed",
            "leagues": changes,
            "results": sorted(results),
            "due": sorted(due),
            "from": PROCESS_ID,
        }
        await send(GROUP, message)


_outgoing = Outgoing()
_failing: set[str] = set()
"""Groups to which the last message could not be sent."""


async def send(group: str, message: dict[str, Any]) -> None:
    """Send a message to every process that listens to a group; it is lost if the channel layer takes none.

    Nobody relies on it: a change is committed, and found by whoever looks at the rows; a caller waits as for an agent
    that is away. An outage is logged once, at its beginning.
    """
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await layer.group_send(group, message)
        _failing.discard(group)
    except Exception as error:
        if group not in _failing:
            logger.warning("the channel layer took no message for %s (%s): it is lost", group, _why(error))
        _failing.add(group)


def attach(loop: asyncio.AbstractEventLoop, *, sleep: Sleep = asyncio.sleep) -> None:
    """Send from this loop from now on. Until this is called, each push makes a loop of its own.

    Args:
        loop: the loop of this process.
        sleep: waits for this many seconds between two messages.
    """
    global _outgoing  # noqa: PLW0603 - one loop per process, set once at its start
    _outgoing = Outgoing(loop, sleep=sleep)
    logging.getLogger("channels_redis.pubsub").addFilter(_brief)


def push(league_id: str, match_ids: Iterable[str] = (), *, result: bool = False) -> None:
    """Tell every web process that a league, and these matches of it, look different now.

    Args:
        result: a match has ended: pages show that sooner than other changes.
    """
    _outgoing.put({league_id: set(match_ids)}, set(), results={league_id} if result else ())


def call_conductors(*, urgent: bool) -> None:
    """Tell the conductors of other processes that something is due; without a layer that reaches them, nothing."""
    if reaches_others():
        _outgoing.put({}, {urgent})


def reaches_others() -> bool:
    """Whether the channel layer has other processes on it."""
    return not isinstance(get_channel_layer(), InMemoryChannelLayer)


def _why(error: Exception) -> str:
    """An error in words: some errors of redis, and timeouts, have no text, only a type."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def end_if_cancelled() -> None:
    """End this task if it was cancelled while the channel layer was called.

    Redis sends by ``asyncio.wait_for``, which in Python 3.11 returns as if nothing had happened if the cancellation
    comes as its work ends. A loop that did not look would go on for ever.

    Raises:
        asyncio.CancelledError: the task was cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _hand(hear: Callable[[dict[str, Any]], None], message: dict[str, Any], group: str) -> None:
    """Hand a message to its listener. One that it fails at costs this process no other message."""
    try:
        hear(message)
    except Exception:
        logger.exception("a message of the group %s was not taken", group)


async def listen(hear: Callable[[dict[str, Any]], None], group: str = GROUP) -> None:
    """Receive every message of a group until cancelled; subscribe again after a failure.

    Args:
        hear: called with each message. Those of :data:`GROUP` have ``leagues``, the ids of leagues, each with the ids
            of matches; ``results``, those of the leagues in which a match has ended; ``due``, the calls of conductors,
            true for an urgent one; ``from``, the sending process.
    """
    layer = get_channel_layer()
    if layer is None:
        return
    pause, channel = RESUBSCRIBE_BACKOFF_S[0], ""
    while True:
        try:
            # A channel that could not be subscribed is used again, as it may get messages that nobody takes.
            channel = channel or await layer.new_channel(group)
            await layer.group_add(group, channel)
            end_if_cancelled()
            pause, subscribed, channel = RESUBSCRIBE_BACKOFF_S[0], channel, ""
            while True:
                _hand(hear, await layer.receive(subscribed), group)
        except Exception as error:
            # Redis has not started yet, or is away.
            logger.warning("the channel layer failed (%s): subscribing again in %.1f s", _why(error), pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, RESUBSCRIBE_BACKOFF_S[1])
