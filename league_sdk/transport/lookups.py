"""Looking names up: in threads of its own, so many of one zone at a time, and none of them holds up the process' end.

A name server that never answers holds a thread for ten to twenty seconds, long after the call has given up. Whoever
registers a few such names must not have the threads that everybody's names need: asyncio's own are a handful, and a
process waits for them before it ends. So a zone has its share of the threads, zones that were slow have one share
together, and names that nobody has found before leave room for those that were.
"""

from __future__ import annotations

import asyncio
import copy
import socket
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MOST = 64
"""Lookups under way in this process; each has a thread as long as it lasts."""
MOST_OF_A_ZONE = 4
"""Of these, for names of one zone. The others of the zone wait for their own: honest ones are found in milliseconds."""
KEPT_FOR_FOUND = 16
"""Of these, for names that were found before: strangers' new names never take the last threads."""
MOST_OF_SLOW = 12
"""Of these, for all zones together whose last lookup took longer than :data:`SLOW_S`."""
SLOW_S = 1.0
MOST_REMEMBERED = 4096
"""Names that were found, and zones that were slow; the oldest is forgotten first."""

_SHARED = frozenset({"ac", "co", "com", "edu", "gob", "gov", "gouv", "k12", "mil", "muni", "net", "or", "org", "sch"})
"""Before a country's two letters these are everybody's, as ``ac`` in ``uni.ac.il``: the zone is one label longer."""
_COUNTRY_CHARS = 2

Found = list[tuple[Any, ...]]
Answer = Callable[[Found, Exception | None], None]


def zone(host: str) -> str:
    """Whose name server has to answer for a name: its last two labels, or three below ``ac.il`` and its like.

    A name of two labels stands for itself, as ``alice.local`` must: nobody owns ``local``, ``lan`` or ``home``.
    """
    labels = host.lower().rstrip(".").split(".")
    shared = len(labels) > 2 and len(labels[-1]) == _COUNTRY_CHARS and labels[-2] in _SHARED
    return ".".join(labels[-3 if shared else -2 :])


class _Remembered:
    """Texts, the newest :data:`MOST_REMEMBERED` of them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        return text in self._kept

    def add(self, text: str) -> None:
        self._kept[text] = None
        self._kept.move_to_end(text)
        if len(self._kept) > MOST_REMEMBERED:
            self._kept.popitem(last=False)

    def discard(self, text: str) -> None:
        self._kept.pop(text, None)


@dataclass(eq=False, slots=True)
class _Lookup:
    key: tuple[Any, ...]
    zone: str
    waiting: list[Answer]
    begun_at: float | None = None
    slow: bool = False
    new: bool = False

    @property
    def host(self) -> str:
        return str(self.key[0])


class Lookups:
    """The lookups of a process, for all its event loops and threads; what was found is not kept, only that it was.

    Args:
        most: at a time.
        of_a_zone: at a time, of one zone.
        kept_for_found: of ``most``, those that only names that were found before get.
        of_slow: at a time, of all zones that were slow.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        most: int = MOST,
        of_a_zone: int = MOST_OF_A_ZONE,
        *,
        kept_for_found: int = KEPT_FOR_FOUND,
        of_slow: int = MOST_OF_SLOW,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._of_a_zone, self._of_slow = most, of_a_zone, of_slow
        self._of_new = max(1, most - kept_for_found)
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[tuple[Any, ...], _Lookup] = {}
        self._queue: deque[_Lookup] = deque()
        self._running: Counter[str] = Counter()
        self._slow = self._new = 0
        self._were_found, self._were_slow = _Remembered(), _Remembered()

    def waits_for_others(self, host: str) -> bool:
        """Whether a name is not being looked up because other zones' names have the threads: not its owner's fault."""
        with self._lock:
            queued = [one for one in self._queue if one.host == host]
            own = zone(host)
            return bool(queued) and self._running[own] < self._of_a_zone and own not in self._were_slow

    def look_up(self, host: str, port: int, answer: Answer, **more: int) -> None:
        """Look a name up, from any thread; who asks for what is being looked up waits for the same answer.

        Args:
            host: the name.
            port: goes into what is found.
            answer: called once, in another thread, with what was found and what went wrong.
            more: ``family``, ``type``, ``proto`` and ``flags`` of ``socket.getaddrinfo``; 0 where left out.
        """
        key = (host, port, *(more.get(name, 0) for name in ("family", "type", "proto", "flags")))
        with self._lock:
            lookup = self._open.get(key)
            if lookup is None:
                lookup = self._open[key] = _Lookup(key, zone(host), [])
                self._queue.append(lookup)
            lookup.waiting.append(answer)
            due = self._next()
        self._begin(due)

    async def getaddrinfo(
        self,
        host: str,
        port: int,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - asyncio's name
        proto: int = 0,
        flags: int = 0,
    ) -> Found:
        """As an event loop's."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Found] = loop.create_future()

        def answer(found: Found, problem: Exception | None) -> None:
            # Each its own: an exception gathers the way that it takes.
            loop.call_soon_threadsafe(_settle, result, found, copy.copy(problem))

        self.look_up(host, port, answer, family=family, type=type, proto=proto, flags=flags)
        return await result

    async def getnameinfo(self, address: Any, flags: int = 0) -> tuple[str, str]:
        """As an event loop's; of numbers alone, for which nobody is asked."""
        return socket.getnameinfo(address, flags | socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)

    def _has_room(self, one: _Lookup) -> bool:
        """Whether a lookup may begin, by its zone and by what is known of that; under the lock."""
        if self._running[one.zone] >= self._of_a_zone:
            return False
        if one.zone in self._were_slow:
            return self._slow < self._of_slow and self._new < self._of_new
        return one.host in self._were_found or self._new < self._of_new

    def _next(self) -> _Lookup | None:
        """The first that waits and may begin; under the lock."""
        if self._running.total() >= self._most:
            return None
        due = next((one for one in self._queue if self._has_room(one)), None)
        if due is not None:
            self._queue.remove(due)
            self._running[due.zone] += 1
            due.begun_at = self._clock()
            due.slow = due.zone in self._were_slow
            due.new = due.slow or due.host not in self._were_found
            self._slow += due.slow
            self._new += due.new
        return due

    def _begin(self, due: _Lookup | None) -> None:
        while due is not None:
            try:
                # A daemon, and none of an executor: both asyncio and the interpreter wait for those of an executor.
                threading.Thread(target=self._work, args=(due,), name="lookup", daemon=True).start()
                return
            except RuntimeError as error:
                due = self._end(due, [], socket.gaierror(socket.EAI_MEMORY, str(error)))

    def _work(self, lookup: _Lookup | None) -> None:
        """Look up what is due, one after the other, until nothing is."""
        while lookup is not None:
            found: Found = []
            problem: Exception | None = None
            try:
                found = list(socket.getaddrinfo(*lookup.key))
            except Exception as error:
                problem = error
            lookup = self._end(lookup, found, problem)

    def _end(self, lookup: _Lookup, found: Found, problem: Exception | None) -> _Lookup | None:
        """Tell who waits; what is due next."""
        with self._lock:
            del self._open[lookup.key]
            self._running[lookup.zone] -= 1
            if not self._running[lookup.zone]:
                del self._running[lookup.zone]
            self._slow -= lookup.slow
            self._new -= lookup.new
            if lookup.begun_at is not None and self._clock() - lookup.begun_at > SLOW_S:
                self._were_slow.add(lookup.zone)
                self._were_found.discard(lookup.host)
            elif found:
                self._were_slow.discard(lookup.zone)
                self._were_found.add(lookup.host)
            due = self._next()
        for answer in lookup.waiting:
            try:
                answer(found, problem)
            except RuntimeError:
                # The event loop that asked has ended meanwhile.
                continue
        return due


def _settle(answer: asyncio.Future[Found], found: Found, problem: Exception | None) -> None:
    if answer.done():
        return
    if problem is not None:
        answer.set_exception(problem)
    else:
        answer.set_result(found)


LOOKUPS = Lookups()
"""This process' own."""
