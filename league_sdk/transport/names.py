"""What names lead to, for whoever may not wait: asked now, looked up in other threads, known a moment later."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from league_sdk.transport.lookups import LOOKUPS, Found, Lookups

FRESH_S = 20.0
"""So long what was found, or that nothing was, is taken for true."""
AGAIN_S = 1.0
PATIENCE_S = 5.0
"""A name server that is silent is asked again so long; then its name counts as not found."""
MOST = 4096
MOST_ADDRESSES = 8
"""Of one name; the others are never called."""


@dataclass(slots=True)
class _Name:
    addresses: tuple[str, ...] | None = None
    known_at: float = 0.0
    asked_at: float = 0.0
    wanted_since: float = -math.inf
    pending: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)


class Names:
    """What the names of agents' addresses lead to.

    Args:
        lookups: does the looking up.
        clock: monotonic seconds.
    """

    def __init__(self, lookups: Lookups = LOOKUPS, clock: Callable[[], float] = time.monotonic) -> None:
        self._lookups, self._clock = lookups, clock
        self._lock = threading.Lock()
        self._names: OrderedDict[str, _Name] = OrderedDict()

    def addresses(self, host: str, tell: Callable[[], None]) -> tuple[str, ...] | None:
        """The IP addresses a name leads to; empty when it leads nowhere, None while that is being found out.

        Never waits: a name that is not known, or was looked up more than :data:`FRESH_S` seconds ago, is looked up
        in another thread; if its name server is silent for :data:`PATIENCE_S` seconds, it leads nowhere.

        Args:
            host: the name, in lower case.
            tell: called in another thread when there is an answer after all.
        """
        with self._lock:
            name = self._names.setdefault(host, _Name())
            self._names.move_to_end(host)
            if len(self._names) > MOST:
                self._names.popitem(last=False)
            now = self._clock()
            if name.addresses is not None and now - name.known_at <= FRESH_S:
                return name.addresses
            if name.addresses is not None or now - name.wanted_since > FRESH_S + PATIENCE_S:
                # What was known is too old, or nobody has asked for long: patience begins anew.
                name.addresses, name.wanted_since = None, now
            # Where other zones' names have the threads it is not this name that is silent.
            if now - name.wanted_since > PATIENCE_S and not self._lookups.waits_for_others(host):
                name.addresses, name.known_at = (), now
                return ()
            begin = not name.pending and (not name.asked_at or now - name.asked_at >= AGAIN_S)
            if begin:
                name.pending, name.asked_at = True, now
            if tell not in name.waiting:
                name.waiting.append(tell)
        if begin:
            # Not under the lock: where no thread is to be had, the answer comes at once.
            self._lookups.look_up(host, 0, lambda found, problem: self._end(name, found, problem))
        return None

    def _end(self, name: _Name, found: Found, problem: Exception | None) -> None:
        with self._lock:
            name.pending = False
            silent = isinstance(problem, socket.gaierror) and problem.errno != socket.EAI_NONAME
            if not silent:
                seen = {str(one[4][0]).partition("%")[0] for one in found}
                name.addresses, name.known_at = tuple(sorted(seen)[:MOST_ADDRESSES]), self._clock()
            waiting, name.waiting = name.waiting, []
        for tell in waiting:
            tell()


NAMES = Names()
"""This process' own."""
