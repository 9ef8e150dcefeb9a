"""What a referee counts, in the text format of Prometheus; too few metrics to need its library.

Label values are names of ours (message types, codes, causes), never what a player sent. One event loop: no locks.
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
"""The values of a metric's labels; those of a bucket of a histogram end with its upper bound."""


class Metric:
    """One metric with a number for each combination of its labels' values.

    Args:
        kind: ``counter``, ``gauge`` or ``histogram``.
        name: what follows ``league_referee_``.
        description: what it is, for people.
        labels: the names of its labels.
    """

    def __init__(self, kind: str, name: str, description: str, *labels: str) -> None:
        self.name = f"league_referee_{name}"
        self._head = f"# HELP {self.name} {description}\n# TYPE {self.name} {kind}"
        self._labels = labels
        self._numbers: dict[tuple[str, Labels], float] = {} if labels else {("", ()): 0}
        self.counted_by_door: Mapping[Labels, int] = {}
        """What the door's process has counted until now."""
        _METRICS.append(self)

    def add(self, *values: str, amount: float = 1, ending: str = "") -> None:
        """Count under these values of the labels; ``ending`` is what a histogram puts after the name."""
        key = ending, values
        self._numbers[key] = self._numbers.get(key, 0) + amount

    def set(self, number: float) -> None:
        """Set a gauge."""
        self._numbers["", ()] = number

    def observe(self, seconds: float, *values: str) -> None:
        """Add a duration to a histogram."""
        for bound in BUCKETS_S:
            self.add(*values, str(bound), amount=int(seconds <= bound), ending="_bucket")
        self.add(*values, "+Inf", ending="_bucket")
        self.add(*values, amount=seconds, ending="_sum")
        self.add(*values, ending="_count")

    def lines(self) -> Iterator[str]:
        """The metric as text."""
        yield self._head
        numbers = dict(self._numbers)
        for values, count in self.counted_by_door.items():
            numbers["", values] = numbers.get(("", values), 0) + count
        for (ending, values), number in numbers.items():
            pairs = [f'{name}="{value}"' for name, value in zip((*self._labels, "le"), values, strict=False)]
            labels = f"{{{','.join(pairs)}}}" if pairs else ""
            yield f"{self.name}{ending}{labels} {number!r}"


_METRICS: list[Metric] = []

MATCHES_IN_PLAY = Metric("gauge", "matches_in_play", "Matches that are being played.")
MATCHES = Metric(
    "counter", "matches_total", "Attempts reported (ok), or handed back after a failure (its cause).", "outcome"
)
CALLS = Metric(
    "counter",
    "calls_total",
    "Messages to players: ok, or the cause or code of the error when there was no usable answer.",
    "message_type",
    "outcome",
)
CALL_TIME = Metric("histogram", "call_seconds", "Time until a player answered, or did not.", "message_type")
MESSAGES = Metric(
    "counter",
    "messages_total",
    "Messages to this referee: ok, or the code of the error.",
    "message_type",
    "outcome",
)
TURNED_AWAY = Metric(
    "counter", "turned_away_total", "Requests and connections that were over a budget of the door.", "caller"
)
REPORTS_REPEATED = Metric("counter", "reports_repeated_total", "Results that had to be reported once more.")
HEARTBEATS_FAILED = Metric(
    "counter", "heartbeats_failed_total", "Progress reports that the league manager did not take."
)
HEARTBEAT_AGE = Metric("gauge", "heartbeat_age_seconds", "Since the league manager last took a heartbeat.")
CANARY_WINDOW_S = 60.0
CANARY_LATE = Metric("gauge", "canary_late_seconds", "For how long of the last minute this process itself was late.")


def text() -> str:
    """All metrics."""
    return "\n".join(line for metric in _METRICS for line in metric.lines()) + "\n" + _of_the_process()


def _of_the_process() -> str:
    """Memory and open files of this process, on Linux."""
    text = ""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        text += "# TYPE process_resident_memory_bytes gauge\n"
        text += f"process_resident_memory_bytes {pages * os.sysconf('SC_PAGE_SIZE')}\n"
        text += f"# TYPE process_open_fds gauge\nprocess_open_fds {sum(1 for _ in Path('/proc/self/fd').iterdir())}\n"
    return text
