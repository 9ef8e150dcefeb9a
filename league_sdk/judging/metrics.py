"""What a referee counts, in the text format of Prometheus: few enough metrics to do without its library.

Labels are names of ours (message types, codes, causes), never what a player sent. One process, one loop: no locks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
OK = "ok"

Labels = tuple[str, ...]
Line = tuple[str, Labels, float]


class Family:
    """One metric with its labels: :class:`Counter`, :class:`Gauge` or :class:`Histogram`.

    Args:
        name: with ``league_referee_`` before it.
        words: what it is, for people.
        labels: the names of its labels.
    """

    kind = ""

    def __init__(self, name: str, words: str, *labels: str) -> None:
        self.name = f"league_referee_{name}"
        self.words = words
        self.labels = labels
        _FAMILIES.append(self)

    def lines(self) -> Iterator[str]:
        """The metric as text."""
        yield f"# HELP {self.name} {self.words}"
        yield f"# TYPE {self.name} {self.kind}"

    def _line(self, values: Labels, number: float, ending: str = "", more: str = "") -> str:
        pairs = [f'{name}="{value}"' for name, value in zip(self.labels, values, strict=True)]
        inside = ",".join([*pairs, more] if more else pairs)
        return f"{self.name}{ending}{{{inside}}} {number!r}" if inside else f"{self.name}{ending} {number!r}"


class Counter(Family):
    """A number that only grows."""

    kind = "counter"

    def __init__(self, name: str, words: str, *labels: str) -> None:
        super().__init__(f"{name}_total", words, *labels)
        self._numbers: dict[Labels, int] = {} if labels else {(): 0}
        self._elsewhere: Mapping[Labels, int] = {}

    def add_elsewhere(self, numbers: Mapping[Labels, int]) -> None:
        """What another process has counted until now, by the values of the labels; what it said before is replaced."""
        self._elsewhere = numbers

    def add(self, *values: str) -> None:
        """One more, under these values of the labels."""
        self._numbers[values] = self._numbers.get(values, 0) + 1

    def lines(self) -> Iterator[str]:
        """The metric as text."""
        yield from super().lines()
        for values in sorted(self._numbers.keys() | self._elsewhere.keys()):
            yield self._line(values, self._numbers.get(values, 0) + self._elsewhere.get(values, 0))


class Gauge(Family):
    """A number that goes up and down."""

    kind = "gauge"

    def __init__(self, name: str, words: str) -> None:
        super().__init__(name, words)
        self._number = 0.0

    def set(self, number: float) -> None:
        """It is this now."""
        self._number = number

    def lines(self) -> Iterator[str]:
        """The metric as text."""
        yield from super().lines()
        yield self._line((), self._number)


class Histogram(Family):
    """How long something took."""

    kind = "histogram"

    def __init__(self, name: str, words: str, *labels: str) -> None:
        super().__init__(f"{name}_seconds", words, *labels)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """One more took so many seconds."""
        counts = self._counts.setdefault(values, [0] * (len(BUCKETS_S) + 1))
        counts[next((place for place, most in enumerate(BUCKETS_S) if seconds <= most), len(BUCKETS_S))] += 1
        self._sums[values] = self._sums.get(values, 0.0) + seconds

    def lines(self) -> Iterator[str]:
        """The metric as text."""
        yield from super().lines()
        for values, counts in sorted(self._counts.items()):
            reached = 0
            for most, count in zip((*map(str, BUCKETS_S), "+Inf"), counts, strict=True):
                reached += count
                yield self._line(values, reached, "_bucket", f'le="{most}"')
            yield self._line(values, self._sums[values], "_sum")
            yield self._line(values, reached, "_count")


_FAMILIES: list[Family] = []

MATCHES_IN_PLAY = Gauge("matches_in_play", "Matches that are being played.")
MATCHES = Counter("matches", "Attempts that ended here: ok, or the cause for which one has no result.", "outcome")
CALLS = Counter(
    "calls", "Messages to players: ok, or the cause for which there was no answer.", "message_type", "outcome"
)
CALL_TIME = Histogram("call", "Time until a player answered, or did not.", "message_type")
MESSAGES = Counter("messages", "Messages to this referee: ok, or the code of the error.", "message_type", "outcome")
TURNED_AWAY = Counter("turned_away", "Requests and connections that were over a budget of the door.", "caller")
REPORTS_REPEATED = Counter("reports_repeated", "Results that had to be reported once more.")
HEARTBEATS_FAILED = Counter("heartbeats_failed", "Progress reports that the league manager did not take.")
HEARTBEAT_AGE = Gauge("heartbeat_age_seconds", "Since the league manager last took a heartbeat.")
CANARY_WITHIN_S = 60.0
CANARY_LATE = Gauge("canary_late_seconds", "For how long of the last minute this process itself was late.")


def text() -> str:
    """All metrics."""
    return "\n".join(line for family in _FAMILIES for line in family.lines()) + "\n" + _of_the_process()


def _of_the_process() -> str:
    """Memory and open files, where the system tells (Linux)."""
    found = ""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        found += "# TYPE process_resident_memory_bytes gauge\n"
        found += f"process_resident_memory_bytes {pages * os.sysconf('SC_PAGE_SIZE')}\n"
        found += f"# TYPE process_open_fds gauge\nprocess_open_fds {sum(1 for _ in Path('/proc/self/fd').iterdir())}\n"
    return found
