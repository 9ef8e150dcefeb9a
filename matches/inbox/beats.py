"""Which processes of a site run, by what each of them says twice a second (decision 35)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from matches.inbox.hub import LINGER_S

BEAT_INTERVAL_S = 0.5
"""How often a process says that it runs."""
SILENT_AFTER_S = 2.0
"""A process that has not said so for this long stands still."""
GONE_AFTER_S = LINGER_S
"""A process that was silent for this long has ended: its agents have had the time to open their lines elsewhere."""


class Beats:
    """When the processes of a site were last heard, as one of them sees it.

    Args:
        process: the id of this process.
        has_lines: whether agents can open lines at this process.
        now: the time in monotonic seconds.
    """

    def __init__(self, process: str, *, has_lines: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._process = process
        self._has_lines = has_lines
        self._now = now
        # The processes that have lines, and this one.
        self._heard_at: dict[str, float] = {}
        self._silence_ended_at = -math.inf
        self._hears_since = math.inf

    def beat(self) -> dict[str, Any]:
        """What this process says: that it runs, and when it last heard the others."""
        now = self._now()
        self._forget_ended(now)
        heard_s = {one: now - at for one, at in self._heard_at.items() if one != self._process}
        return {"has_lines": self._has_lines, "knows_all": self._knows_all(now), "heard_s": heard_s}

    def hear(self, process: str, beat: dict[str, Any]) -> None:
        """A process, perhaps this one, has said that it runs."""
        now = self._now()
        if process == self._process:
            self._hears_since = min(self._hears_since, now)
        elif beat["knows_all"] and not self._knows_all(now):
            for other, ago_s in beat["heard_s"].items():
                self._heard_at.setdefault(other, now - ago_s)
            self._hears_since = now - GONE_AFTER_S
        if beat["has_lines"] or process == self._process:
            if now - self._heard_at.get(process, now) > SILENT_AFTER_S:
                self._silence_ended_at = now
            self._heard_at[process] = now

    def hear_end(self, process: str) -> None:
        """A process has ended in good order, and its lines with it."""
        self._heard_at.pop(process, None)

    def one_was_silent(self, since: float) -> bool:
        """Whether a process that may have lines has stood still since a time, or this process cannot tell.

        Args:
            since: in monotonic seconds.
        """
        now = self._now()
        if not self._knows_all(now):
            return True
        self._forget_ended(now)
        # A process hears its own beats only while the channel layer and its own event loop work.
        hears = self._process in self._heard_at
        silent = any(now - at > SILENT_AFTER_S for at in self._heard_at.values())
        return silent or not hears or self._silence_ended_at >= since

    def _forget_ended(self, now: float) -> None:
        self._heard_at = {
            one: at for one, at in self._heard_at.items() if now - at <= GONE_AFTER_S or one == self._process
        }

    def _knows_all(self, now: float) -> bool:
        """Whether it is known who stands still: this process has heard long enough, or was told by one that has."""
        return now - self._hears_since >= GONE_AFTER_S
