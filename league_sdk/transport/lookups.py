"""Look names up in threads of our own, with a limit per zone, so that slow name servers cannot use up the threads.

A name server that never answers holds a thread for ten to twenty seconds, long after the call has given up. Somebody
who registers a few such names must not take the threads that all other names need: asyncio has only a handful, and a
process waits for them before it ends. So the threads per zone are limited, zones that were slow share one limit, and
some threads are reserved for names that were found before.
"""

from __future__ import annotations

import asyncio
import codecs
import copy
import socket
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MAX_LOOKUPS = 64
"""Lookups that run in this process at a time, each in a thread."""
MAX_LOOKUPS_PER_ZONE = 4
"""The limit for names of one zone; its other names wait. A normal name server needs only milliseconds."""
RESERVED_FOR_FOUND = 16
"""Lookups reserved for names that were found before: new names never take the last threads."""
MAX_LOOKUPS_OF_SLOW_ZONES = 12
"""The limit for all slow zones together; a zone is slow from a lookup of more than :data:`SLOW_S` until a quick one
finds a name."""
SLOW_S = 1.0
MAX_REMEMBERED = 4096
"""How many names that were found, and how many zones that were slow, are remembered; the oldest are forgotten first."""

_SHARED_SUFFIXES = frozenset(
    {"ac", "co", "com", "edu", "gob", "gov", "gouv", "k12", "mil", "muni", "net", "or", "org", "sch"}
)
"""Before a country code these are shared by many zones, as ``ac`` in ``uni.ac.il``: the zone has three labels."""
_COUNTRY_CHARS = 2

# socket.getaddrinfo needs this codec, which is a file. If a process has no file descriptor left when it first looks a
# name up, Python remembers that there is no such codec, and no name can be looked up any more.
codecs.lookup("idna")

Found = list[tuple[Any, ...]]
Answer = Callable[[Found, Exception | None], None]


def zone(host: str) -> str:
    """The zone of a name: its last two labels, or three below ``ac.il`` and the like.

    ``alice.local`` is a zone of its own: nobody owns ``local``, ``lan`` or ``home``.
    """
    labels = host.lower().rstrip(".").split(".")
    shared = len(labels) > 2 and len(labels[-1]) == _COUNTRY_CHARS and labels[-2] in _SHARED_SUFFIXES
    return ".".join(labels[-3 if shared else -2 :])


class _Remembered:
    """The newest :data:`MAX_REMEMBERED` of the texts that were added."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        return text in self._kept

    def add(self, text: str) -> None:
        self._kept[text] = None
        self._kept.move_to_end(text)
        if len(self._kept) > MAX_REMEMBERED:
            self._kept.popitem(last=False)

    def discard(self, text: str) -> None:
        self._kept.pop(text, None)


@dataclass(eq=False, slots=True)
class _Lookup:
    key: tuple[Any, ...]
    zone: str
    waiting: list[Answer]
    started_at: float | None = None
    slow: bool = False
    new: bool = False

    @property
    def host(self) -> str:
        return str(self.key[0])


class Lookups:
    """The lookups of a process, for all its event loops and threads; addresses are not cached.

    Args:
        max_lookups: how many run at a time.
        clock: monotonic seconds.
        getaddrinfo: asks the system; by default what :func:`socket.getaddrinfo` is at each lookup.
    """

    def __init__(
        self,
        max_lookups: int = MAX_LOOKUPS,
        *,
        clock: Callable[[], float] = time.monotonic,
        getaddrinfo: Callable[..., Iterable[tuple[Any, ...]]] | None = None,
    ) -> None:
        self._max_lookups, self._clock, self._getaddrinfo = max_lookups, clock, getaddrinfo
        self._max_new = max(1, max_lookups - RESERVED_FOR_FOUND)
        self._lock = threading.Lock()
        self._open: dict[tuple[Any, ...], _Lookup] = {}
        self._queue: deque[_Lookup] = deque()
        self._running: Counter[str] = Counter()
        self._running_slow = self._running_new = 0
        self._found_names, self._slow_zones = _Remembered(), _Remembered()

    def waits_for_others(self, host: str) -> bool:
        """Whether names of other zones hold the threads that a name waits for: that is not its owner's fault."""
        with self._lock:
            is_queued = any(lookup.host == host for lookup in self._queue)
            own = zone(host)
            return is_queued and self._running[own] < MAX_LOOKUPS_PER_ZONE and own not in self._slow_zones

    def look_up(self, host: str, port: int, answer: Answer, **more: int) -> None:
        """Look a name up, from any thread; equal requests share one lookup.

        Args:
            answer: called once with what was found and what went wrong.
            more: ``family``, ``type``, ``proto`` and ``flags`` of ``socket.getaddrinfo``; 0 if left out.
        """
        key = (host, port, *(more.get(name, 0) for name in ("family", "type", "proto", "flags")))
        with self._lock:
            lookup = self._open.get(key)
            if lookup is None:
                lookup = self._open[key] = _Lookup(key, zone(host), [])
                self._queue.append(lookup)
            lookup.waiting.append(answer)
            lookup_to_start = self._next()
        self._start(lookup_to_start)

    async def getaddrinfo(self, host: str, port: int, **more: int) -> Found:
        """Look a name up for a coroutine; what went wrong is raised."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Found] = loop.create_future()

        def answer(found: Found, problem: Exception | None) -> None:
            # A copy for each waiter: raising an exception adds to its traceback.
            loop.call_soon_threadsafe(_settle, result, found, copy.copy(problem))

        self.look_up(host, port, answer, **more)
        return await result

    def _has_room(self, lookup: _Lookup) -> bool:
        """Whether a lookup may start, by its zone and name. Call it under the lock."""
        if self._running[lookup.zone] >= MAX_LOOKUPS_PER_ZONE:
            return False
        if lookup.zone in self._slow_zones:
            return self._running_slow < MAX_LOOKUPS_OF_SLOW_ZONES and self._running_new < self._max_new
        return lookup.host in self._found_names or self._running_new < self._max_new

    def _next(self) -> _Lookup | None:
        """Take the first lookup that may start out of the queue. Call it under the lock."""
        if self._running.total() >= self._max_lookups:
            return None
        due = next((lookup for lookup in self._queue if self._has_room(lookup)), None)
        if due is not None:
            self._queue.remove(due)
            self._running[due.zone] += 1
            due.started_at = self._clock()
            due.slow = due.zone in self._slow_zones
            due.new = due.slow or due.host not in self._found_names
            self._running_slow += due.slow
            self._running_new += due.new
        return due

    def _start(self, due: _Lookup | None) -> None:
        while due is not None:
            try:
                # Daemon threads, as asyncio and the interpreter wait for the threads of an executor.
                threading.Thread(target=self._work, args=(due,), name="lookup", daemon=True).start()
                return
            except RuntimeError as error:
                due = self._end(due, [], socket.gaierror(socket.EAI_MEMORY, str(error)))

    def _work(self, lookup: _Lookup | None) -> None:
        """Run lookups, one after the other, until none may start."""
        while lookup is not None:
            addresses: Found = []
            problem: Exception | None = None
            ask = self._getaddrinfo or socket.getaddrinfo
            try:
                addresses = list(ask(*lookup.key))
            except Exception as error:
                problem = error
            lookup = self._end(lookup, addresses, problem)

    def _end(self, lookup: _Lookup, found: Found, problem: Exception | None) -> _Lookup | None:
        """Answer those that wait for a lookup; returns the next lookup to run, None if none may start."""
        with self._lock:
            del self._open[lookup.key]
            self._running[lookup.zone] -= 1
            if not self._running[lookup.zone]:
                del self._running[lookup.zone]
            self._running_slow -= lookup.slow
            self._running_new -= lookup.new
            if lookup.started_at is not None and self._clock() - lookup.started_at > SLOW_S:
                self._slow_zones.add(lookup.zone)
                self._found_names.discard(lookup.host)
            elif found:
                self._slow_zones.discard(lookup.zone)
                self._found_names.add(lookup.host)
            due = self._next()
        for answer in lookup.waiting:
            try:
                answer(found, problem)
            except RuntimeError:
                # The event loop that asked was closed meanwhile.
                continue
        return due


def _settle(result: asyncio.Future[Found], found: Found, problem: Exception | None) -> None:
    if result.done():
        return
    if problem is not None:
        result.set_exception(problem)
    else:
        result.set_result(found)


LOOKUPS = Lookups()
"""The lookups of this process."""
