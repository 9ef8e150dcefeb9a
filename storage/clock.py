"""The time of day, as the database has it: the clocks of several machines need not agree.

Leases and waits are times in rows which one machine writes and another reads. A machine whose clock is wrong, or leaps,
would take them for over, or for endless.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

from django.db.backends.signals import connection_created
from django.utils import timezone

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""It also runs while a laptop sleeps, as the clock of a database on it does."""
_TRIES = 3
"""How often it is asked at first: the quickest answer says most exactly what the time is, the others came late."""
_read: tuple[datetime, float] | None = None
"""The database's time when it was read, and that of the steady clock then, in seconds."""


def now() -> datetime:
    """The time of the database's clock; without :func:`follow`, and on SQLite, that of this machine."""
    if _read is None:
        return timezone.now()
    at, steady = _read
    return at + timedelta(seconds=time.clock_gettime(_STEADY) - steady)


def follow() -> None:
    """Read the database's clock, with the first connection of this process and never again."""
    connection_created.connect(_read_clock)


def _read_clock(*, connection: Any, **_: Any) -> None:
    global _read  # noqa: PLW0603 - the clock of the process
    if _read is None and connection.vendor == "postgresql":
        answers = []
        with connection.cursor() as cursor:
            for _try in range(_TRIES):
                asked = time.clock_gettime(_STEADY)
                cursor.execute("SELECT clock_timestamp()")
                [(at,)] = cursor.fetchall()
                took = time.clock_gettime(_STEADY) - asked
                answers.append((took, at, asked + took / 2))
        _took, at, steady = min(answers)
        _read = at, steady
