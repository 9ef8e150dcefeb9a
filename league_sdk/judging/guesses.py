"""Wrong keys at a referee's /metrics: how many are looked at."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from league_sdk.protocol import tokens

MOST, WITHIN_S = 100, 600
"""Wrong ones that are looked at in this many seconds: more than a Prometheus with an old key comes to."""


class Guesses:
    """The wrong keys of one referee, from everywhere together.

    Keys that cannot be guessed (the site makes such a one) are always looked at, so that nobody is kept from the
    metrics by what others try. Of those that could be, none is looked at after too many wrong ones.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._count = 0
        self._until = 0.0

    def wait_s(self, key: str) -> int:
        """The seconds after which this key is looked at; 0: now."""
        left = self._until - self._clock()
        return math.ceil(left) if left > 0 and self._count >= MOST and tokens.is_guessable(key) else 0

    def was_wrong(self, key: str) -> None:
        """Count a wrong one; the first one opens the time within which they are counted."""
        if not tokens.is_guessable(key):
            return
        now = self._clock()
        if self._until <= now:
            self._count, self._until = 0, now + WITHIN_S
        self._count += 1
