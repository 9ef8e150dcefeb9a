"""A cache of the answers whose size grows with a league, so that many requests cost no more than one.

A small answer is made again when the league has changed, and any answer after a second. For a very large league making
an answer takes long: it is kept four times as long as making it took, so that at most a fifth of one processor is spent
on it, however many ask.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from matches.models import League
from matches.view import sight
from matches.view.recent import MAX_RESULTS
from matches.view.sight import View

T = TypeVar("T")

KEPT_S = 1.0
"""The shortest time for which an answer is reused, if it need not be made again earlier (LARGE_BYTES)."""
KEPT_FACTOR = 4
"""How long an answer is reused, as a multiple of the time it took to make."""
LARGE_BYTES = 16 * 1024
"""An answer that is no larger is made again as soon as the league has changed."""
LARGE_OUTCOMES = 200
"""A view with no more results and table rows than this is made again as soon as the league has changed."""
MAX_KEPT_BYTES = 64 * 1024 * 1024


def mark(league: League) -> Hashable:
    """A value that differs once the league has changed; the progress of running matches does not change it.

    Args:
        league: as read for this request.
    """
    return (league.event_seq, league.frozen_seq, league.unveiled, repr(league.settings), repr(league.left_out))


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T
    mark: Hashable
    size: int
    large: bool
    until: float


class Kept(Generic[T]):
    """A cache with an expiry; a value is made when it is first asked for.

    Args:
        max_size: the limit on the sum of all sizes; the least recently used value is evicted first. A single value is
            kept whatever its size.
        clock: monotonic seconds.
        min_s: the shortest time for which a large value is reused, where :data:`KEPT_S` is too short.
    """

    def __init__(self, max_size: int, clock: Callable[[], float] = time.monotonic, *, min_s: float = 0.0) -> None:
        self._max_size = max_size
        self._clock = clock
        self._min_s = min_s
        self._lock = threading.Lock()
        self._making: OrderedDict[Hashable, threading.Lock] = OrderedDict()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._size = 0

    def ready(self, key: Hashable, mark: Hashable) -> T | None:
        """The cached value if it may still be used, else None.

        Args:
            key: identifies the cached value.
            mark: the current :func:`mark` of the league.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or self._clock() >= entry.until or (entry.mark != mark and not entry.large):
                return None
            self._entries.move_to_end(key)
            return entry.value

    def get(self, key: Hashable, mark: Hashable, make: Callable[[], tuple[T, int, bool]]) -> T:
        """The cached value, or a new one; of several threads that ask at once only one makes it.

        Args:
            key: identifies the cached value.
            mark: the :func:`mark` of the league, read before the value is made.
            make: returns the value, its size (counted against ``max_size``) and whether it is a large one.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                cached = self.ready(key, mark)
                return cached if cached is not None else self._make(key, mark, make)
        finally:
            with self._lock:
                self._making.pop(key, None)

    def _make(self, key: Hashable, mark: Hashable, make: Callable[[], tuple[T, int, bool]]) -> T:
        started = self._clock()
        value, size, large = make()
        ended = self._clock()
        # The age counts from the start of making it: the rows were read then.
        until = started + max(KEPT_S, self._min_s, (1 + KEPT_FACTOR) * (ended - started))
        with self._lock:
            self._drop(key)
            self._entries[key] = _Entry(value, mark, size, large, until)
            self._size += size
            while self._size > self._max_size and len(self._entries) > 1:
                self._drop(next(iter(self._entries)))
        return value

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= entry.size

    def forget_all(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._entries.clear()
            self._size = 0


answers: Kept[bytes] = Kept(MAX_KEPT_BYTES)
"""Answers as JSON, by league and question."""
_views: Kept[View] = Kept(MAX_RESULTS)


def public_view(league: League) -> View:
    """The public view of a league, cached, with its table already computed."""
    key = _key(league, ())

    def make() -> tuple[View, int, bool]:
        view = sight.public(league)
        # Compute the table here, so that its time counts for how long the view is kept.
        size = len(view.standings) + len(view.moment.outcomes)
        return view, size, size > LARGE_OUTCOMES

    return _views.get(key, mark(league), make)


def answer(league: League, question: tuple[Any, ...], view: View | None, make: Callable[[View], bytes]) -> bytes:
    """The answer to a question about a league, from the cache or made now.

    Args:
        question: everything the answer depends on besides the league: what is asked, by which audience, in which form.
        view: what is shown; None: the public view.
        make: makes the answer from a view.
    """

    def made() -> tuple[bytes, int, bool]:
        content = make(view if view is not None else public_view(league))
        return content, len(content), len(content) > LARGE_BYTES

    return answers.get(_key(league, question), mark(league), made)


def ready(league: League, question: tuple[Any, ...]) -> bytes | None:
    """The cached answer to a question, or None; makes no query."""
    return answers.ready(_key(league, question), mark(league))


def _key(league: League, question: tuple[Any, ...]) -> Hashable:
    # Also a large answer is not reused when a freeze begins or ends, or a place is unveiled.
    return (league.pk, league.created_at, league.frozen_seq, league.unveiled, question)


def forget_all() -> None:
    """Empty both caches."""
    answers.forget_all()
    _views.forget_all()
