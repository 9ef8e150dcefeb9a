"""A circuit breaker per endpoint (000 section 6, 004 5.9.2; ruling section 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from league_sdk.protocol.faults import Cause


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    cause: Cause = Cause.CONNECT
    opened_at: float | None = None


class Breaker:
    """Counts consecutive failures per endpoint; while its circuit is open the endpoint is not called.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._circuits: dict[str, _Circuit] = {}

    def allows(self, endpoint: str, *, reset_s: float) -> bool:
        """Whether a call may be made now; an open circuit allows a test call every ``reset_s`` seconds (HALF_OPEN)."""
        circuit = self._circuits.get(endpoint)
        if circuit is None or circuit.opened_at is None:
            return True
        now = self._clock()
        if now - circuit.opened_at < reset_s:
            return False
        circuit.opened_at = now
        return True

    def succeeded(self, endpoint: str) -> None:
        """A reply came: close the circuit and reset the count."""
        self._circuits.pop(endpoint, None)

    def cause(self, endpoint: str) -> Cause:
        """The cause of the last failure; CONNECT if there was none."""
        return self._circuits.get(endpoint, _Circuit()).cause

    def failed(self, endpoint: str, *, threshold: int, cause: Cause = Cause.CONNECT) -> None:
        """No reply came: open the circuit after ``threshold`` failures in a row, or after a failed test call."""
        circuit = self._circuits.setdefault(endpoint, _Circuit())
        circuit.failures += 1
        circuit.cause = cause
        if circuit.opened_at is not None or circuit.failures >= threshold:
            circuit.opened_at = self._clock()
