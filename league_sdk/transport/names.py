"""A cache of the IP addresses of host names for callers that must not wait: other threads look the names up (DNS)."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from league_sdk.transport.lookups import LOOKUPS, Found, Lookups

CACHE_S = 20.0
"""How long the answer for a name is used: its addresses, or that it has none."""
RETRY_INTERVAL_S = 1.0
"""The least time between two lookups of one name."""
SILENCE_TIMEOUT_S = 5.0
"""After this many seconds without an answer of its name server, a name counts as one without addresses."""
MAX_NAMES = 4096
MAX_ADDRESSES_PER_NAME = 8
"""Further addresses of a name are never called."""


@dataclass(slots=True)
class _Name:
    """What is known of one name. The times are seconds of the clock.

    Attributes:
        addresses: None while they are not known; empty if it has none, or if its name server was silent for too long.
        known_at: when they became known.
        asked_at: when the last lookup began.
        wanted_since: when a caller first asked for the addresses that are not known.
        pending: whether a lookup is under way.
        waiting: what to call when it ends.
    """

    addresses: tuple[str, ...] | None = None
    known_at: float = 0.0
    asked_at: float = 0.0
    wanted_since: float = -math.inf
    pending: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)


class Names:
    """The IP addresses of host names.

    Args:
        lookups: looks names up.
        clock: monotonic seconds.
        max_names: how many names are kept; the least recently asked for are forgotten first.
    """

    def __init__(
        self, lookups: Lookups = LOOKUPS, clock: Callable[[], float] = time.monotonic, max_names: int = MAX_NAMES
    ) -> None:
        self._lookups, self._clock, self._max_names = lookups, clock, max_names
        self._lock = threading.Lock()
        self._names: OrderedDict[str, _Name] = OrderedDict()

    def addresses(self, host: str, tell: Callable[[], None]) -> tuple[str, ...] | None:
        """The IP addresses of a name; empty if it has none, None while it is being looked up.

        Never waits: a name that is not known, or was looked up more than :data:`CACHE_S` seconds ago, is looked up in
        another thread. If its name server is silent for :data:`SILENCE_TIMEOUT_S` seconds, it has no addresses.

        Args:
            host: the name, in lower case.
            tell: called when the lookup has ended: in another thread, or in this one if none could be started.
        """
        with self._lock:
            name = self._names.setdefault(host, _Name())
            self._names.move_to_end(host)
            if len(self._names) > self._max_names:
                self._names.popitem(last=False)
            now = self._clock()
            if name.addresses is not None and now - name.known_at <= CACHE_S:
                return name.addresses
            if name.addresses is not None or now - name.wanted_since > CACHE_S + SILENCE_TIMEOUT_S:
                # What was known is too old, or nobody has asked for long: start the timeout again.
                name.addresses, name.wanted_since = None, now
            # If names of other zones hold the threads, this name's server is not silent.
            if now - name.wanted_since > SILENCE_TIMEOUT_S and not self._lookups.waits_for_others(host):
                name.addresses, name.known_at = (), now
                return ()
            is_due = not name.pending and (not name.asked_at or now - name.asked_at >= RETRY_INTERVAL_S)
            if is_due:
                name.pending, name.asked_at = True, now
            if tell not in name.waiting:
                name.waiting.append(tell)
        if is_due:
            # Not under the lock: if no thread can be started, the answer comes at once.
            self._lookups.look_up(host, 0, lambda found, problem: self._end(name, found, problem))
        return None

    def _end(self, name: _Name, found: Found, problem: Exception | None) -> None:
        with self._lock:
            name.pending = False
            silent = isinstance(problem, socket.gaierror) and problem.errno != socket.EAI_NONAME
            if not silent:
                addresses = {str(address[0]).partition("%")[0] for *_, address in found}
                name.addresses, name.known_at = tuple(sorted(addresses)[:MAX_ADDRESSES_PER_NAME]), self._clock()
            waiting, name.waiting = name.waiting, []
        for tell in waiting:
            tell()


NAMES = Names()
"""The names of this process."""
