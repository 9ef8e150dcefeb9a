"""Looking names up: in threads of its own, so many of one zone at a time, and none of them holds up the process' end.

A name server that never answers holds a thread for ten to twenty seconds, long after the call has given up. Whoever
registers a few such names must not have the threads that everybody's names need: asyncio's own are a handful, and a
process waits for them before it ends.
"""

from __future__ import annotations

import asyncio
import copy
import socket
import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

MOST = 64
"""Lookups under way in this process; each has a thread as long as it lasts."""
MOST_OF_A_ZONE = 4
"""Of these, for names of one zone. The others of the zone wait for their own: honest ones are found in milliseconds."""

Found = list[tuple[Any, ...]]


def zone(host: str) -> str:
    """Whose name server has to answer for a name: its last two labels.

    A name of two labels stands for itself, as ``alice.local`` must: nobody owns ``local``, ``lan`` or ``home``.
    """
    return ".".join(host.lower().rstrip(".").rsplit(".", 2)[-2:])


@dataclass(eq=False, slots=True)
class _Lookup:
    key: tuple[Any, ...]
    zone: str
    waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[Found]]] = field(default_factory=list)


class Lookups:
    """The lookups of a process, for all its event loops; nothing is kept of what was found.

    Args:
        most: at a time.
        of_a_zone: at a time, of one zone.
    """

    def __init__(self, most: int = MOST, of_a_zone: int = MOST_OF_A_ZONE) -> None:
        self._most, self._of_a_zone = most, of_a_zone
        self._lock = threading.Lock()
        self._open: dict[tuple[Any, ...], _Lookup] = {}
        self._queue: deque[_Lookup] = deque()
        self._running: Counter[str] = Counter()

    @property
    def full(self) -> bool:
        """Whether it is for want of our threads that a name is not looked up now."""
        with self._lock:
            return self._running.total() >= self._most

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
        """As an event loop's; who asks for what is being looked up waits for the same answer."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Found] = loop.create_future()
        key = (host, port, family, type, proto, flags)
        with self._lock:
            lookup = self._open.get(key)
            if lookup is None:
                lookup = self._open[key] = _Lookup(key, zone(host))
                self._queue.append(lookup)
            lookup.waiting.append((loop, answer))
            due = self._next()
        self._begin(due)
        return await answer

    async def getnameinfo(self, address: Any, flags: int = 0) -> tuple[str, str]:
        """As an event loop's; of numbers alone, for which nobody is asked."""
        return socket.getnameinfo(address, flags | socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)

    def _next(self) -> _Lookup | None:
        """The first that waits and may begin; under the lock."""
        if self._running.total() >= self._most:
            return None
        due = next((one for one in self._queue if self._running[one.zone] < self._of_a_zone), None)
        if due is not None:
            self._queue.remove(due)
            self._running[due.zone] += 1
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
            due = self._next()
        for loop, answer in lookup.waiting:
            try:
                # Each its own: an exception gathers the way that it takes.
                loop.call_soon_threadsafe(_settle, answer, found, copy.copy(problem))
            except RuntimeError:
                # This loop has ended meanwhile.
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
