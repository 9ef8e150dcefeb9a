"""Which processes of a site run, by what each of them says twice a second (decision 35)."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from league_sdk.protocol.notes import Code, Note, note
from matches.inbox.hub import LINGER_S

BEAT_INTERVAL_S = 0.5
"""How often a process says that it runs."""
SILENT_AFTER_S = 2.0
"""A process that has not said so for this long stands still."""
LATE_AFTER_S = 4.0
"""A process that had no turn to say so for this long stood still itself: sending takes at most half of it."""
CUT_OFF_BEATS = 10
"""A process that has said so this often in a row, and has not heard itself, is cut off from the others."""
GONE_AFTER_S = LINGER_S
"""A process that was silent for this long has ended: its agents have had the time to open their lines elsewhere."""


def process_name() -> str:
    """By what a person finds this process: its machine and its process id."""
    return f"{socket.gethostname()[:30]}:{os.getpid()}"


class Beats:
    """When the processes of a site were last heard, as one of them sees it.

    Args:
        process: the id of this process.
        has_lines: whether agents can open lines at this process.
        name: by which a person finds this process; empty: its machine and its process id.
        now: the time in monotonic seconds.

    Attributes:
        unheard: how often this process has said that it runs since it last heard itself. A process that stands still
            says nothing, so this counts only while it runs.
    """

    def __init__(
        self, process: str, *, has_lines: bool, name: str = "", now: Callable[[], float] = time.monotonic
    ) -> None:
        self._process = process
        self._has_lines = has_lines
        self._now = now
        # The processes that have lines, and this one.
        self._heard_at = {process: now()}
        self._names = {process: name or process_name()}
        self._beat_at = now()
        self.unheard = 0
        self._late_until = self._silence_ended_at = self._deaf_until = -math.inf
        self._was_silent: Note | str = ""
        self._hears_since = math.inf

    def beat(self) -> dict[str, Any]:
        """What this process says: that it runs, and when it last heard the others."""
        now = self._now()
        if now - self._beat_at > LATE_AFTER_S:
            self._late_until = now
        self._beat_at = now
        self.unheard += 1
        self._forget_ended(now)
        heard_s = {one: now - at for one, at in self._heard_at.items() if one != self._process}
        said = {"has_lines": self._has_lines, "knows_all": self._knows_all(now), "heard_s": heard_s}
        return {**said, "name": self._names[self._process]}

    def hear(self, process: str, beat: dict[str, Any]) -> None:
        """A process, perhaps this one, has said that it runs."""
        now = self._now()
        if process == self._process:
            self.unheard = 0
            self._hears_since = min(self._hears_since, now)
        elif beat["knows_all"] and not self._knows_all(now):
            for other, ago_s in beat["heard_s"].items():
                self._heard_at.setdefault(other, now - ago_s)
            self._hears_since = now - GONE_AFTER_S
        if beat["has_lines"] or process == self._process:
            if now - (since := self._heard_at.get(process, now)) > SILENT_AFTER_S:
                # While this process hears not even itself, it knows nothing of the others.
                deaf = process == self._process or now - self._heard_at[self._process] > SILENT_AFTER_S
                self._deaf_until = now if deaf else self._deaf_until
                self._was_silent = self._silent(self._process if self._deaf_until >= since else process, since)
                self._silence_ended_at = now
            self._heard_at[process] = now
            self._names[process] = beat.get("name", process[:8])

    def hear_end(self, process: str) -> None:
        """A process has ended in good order, and its lines with it."""
        self._heard_at.pop(process, None)

    def stalled(self, since: float) -> Note | str:
        """What has stood still since a time: Redis, or a process that may have lines; empty if nothing has.

        Args:
            since: in monotonic seconds; infinite: what stands still now.
        """
        now = self._now()
        self._forget_ended(now)
        for process, at in sorted(self._heard_at.items(), key=lambda one: one[0] != self._process):
            if now - at > SILENT_AFTER_S:
                return self._silent(process, at)
        if not self._knows_all(now):
            return note(Code.PROCESS_NEW, process=self._names[self._process])
        return self._was_silent if self._silence_ended_at >= since else ""

    def _silent(self, process: str, since: float) -> Note:
        """What was the matter while this process was not heard since a time, in monotonic seconds."""
        # A process hears its own beats only while the channel layer and its own event loop work.
        late = self._late_until > since or self._now() - self._beat_at > LATE_AFTER_S
        if process == self._process and not late:
            return note(Code.REDIS_AWAY)
        return note(Code.PROCESS_STALLED, process=self._names.get(process, process[:8]))

    def _forget_ended(self, now: float) -> None:
        self._heard_at = {
            one: at for one, at in self._heard_at.items() if now - at <= GONE_AFTER_S or one == self._process
        }
        self._names = {one: name for one, name in self._names.items() if one in self._heard_at}

    def _knows_all(self, now: float) -> bool:
        """Whether it is known who stands still: this process has heard long enough, or was told by one that has."""
        return now - self._hears_since >= GONE_AFTER_S
