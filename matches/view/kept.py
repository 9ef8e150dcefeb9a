"""Answers that grow with a league, kept for a moment: many who ask cost no more than one.

What is kept is made anew when the league has changed or after a second, and a large one at most once a second, so an
answer is at most a second old. Of a league so large that one takes longer to make, it is kept four times as long as
that took: no more than a fifth of the processor goes into it, however many ask.
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
from matches.view.sight import View

T = TypeVar("T")

KEPT_S = 1.0
"""How long an answer is given again without a look at the rows."""
KEPT_TIMES = 4
"""The same as a multiple of the time that it took to make."""
LARGE_BYTES = 16 * 1024
"""A smaller answer is made anew as soon as the league has changed."""
LARGE_OUTCOMES = 200
"""The same of a view of a league."""
MOST_KEPT_BYTES = 64 * 1024 * 1024


def mark(league: League) -> Hashable:
    """What is another value when the league has changed; how matches in play stand is not in it.

    Args:
        league: as it was read for this request.
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
    """Values by key, made when they are asked for and kept for a moment.

    Args:
        most: the sum of all sizes; the one not asked for the longest goes first.
        clock: monotonic seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._making: OrderedDict[Hashable, threading.Lock] = OrderedDict()
        self._found: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._size = 0

    def ready(self, key: Hashable, mark: Hashable) -> T | None:
        """The value if one may be given again, else None.

        Args:
            key: what it is an answer to.
            mark: of the league, now (:func:`mark`).
        """
        with self._lock:
            entry = self._found.get(key)
            if entry is None or self._clock() >= entry.until or (entry.mark != mark and not entry.large):
                return None
            self._found.move_to_end(key)
            return entry.value

    def get(self, key: Hashable, mark: Hashable, make: Callable[[], tuple[T, int, bool]]) -> T:
        """The value, made if none may be given again; of several that ask at once one makes it.

        Args:
            key: what it is an answer to.
            mark: of the league; looked up before the value is made.
            make: gives the value, its size for the bound on all of them, and whether it is a large one.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                found = self.ready(key, mark)
                return found if found is not None else self._make(key, mark, make)
        finally:
            with self._lock:
                self._making.pop(key, None)

    def _make(self, key: Hashable, mark: Hashable, make: Callable[[], tuple[T, int, bool]]) -> T:
        begun = self._clock()
        value, size, large = make()
        ended = self._clock()
        # Counted from its beginning: what was read then is as old as that.
        until = begun + max(KEPT_S, (1 + KEPT_TIMES) * (ended - begun))
        with self._lock:
            self._drop(key)
            self._found[key] = _Entry(value, mark, size, large, until)
            self._size += size
            while self._size > self._most and len(self._found) > 1:
                self._drop(next(iter(self._found)))
        return value

    def _drop(self, key: Hashable) -> None:
        entry = self._found.pop(key, None)
        if entry is not None:
            self._size -= entry.size

    def forget_all(self) -> None:
        """As after a start."""
        with self._lock:
            self._found.clear()
            self._size = 0


answers: Kept[bytes] = Kept(MOST_KEPT_BYTES)
"""JSON of answers, by league and question."""
_views: Kept[View] = Kept(sight.KEPT)


def public_view(league: League) -> View:
    """What everybody sees of a league, with a table that is made once for all who ask within the same moment."""
    key = (league.pk, league.created_at)

    def make() -> tuple[View, int, bool]:
        found = sight.public(league)
        # Made here, so that how long it takes counts.
        large = len(found.standings) + len(found.moment.outcomes) > LARGE_OUTCOMES
        return found, 1, large

    return _views.get(key, mark(league), make)


def answer(league: League, question: tuple[Any, ...], view: View | None, make: Callable[[View], bytes]) -> bytes:
    """The answer to a question about a league, made if none is kept.

    Args:
        question: what is asked, for which audience and in which form: all that the answer depends on but the league.
        view: what is shown; None is what everybody sees.
        make: makes the answer.
    """

    def made() -> tuple[bytes, int, bool]:
        found = make(view if view is not None else public_view(league))
        return found, len(found), len(found) > LARGE_BYTES

    return answers.get(_key(league, question), mark(league), made)


def ready(league: League, question: tuple[Any, ...]) -> bytes | None:
    """The answer to a question if one is kept that may be given again, else None; costs no statement."""
    return answers.ready(_key(league, question), mark(league))


def _key(league: League, question: tuple[Any, ...]) -> Hashable:
    return (league.pk, league.created_at, question)


def forget_all() -> None:
    """As after a start."""
    answers.forget_all()
    _views.forget_all()
