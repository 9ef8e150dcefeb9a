"""Helpers that ask for checks and run them at given times."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from agents_registry.addresses.callers import Caller
from league_sdk.protocol.notes import Note
from matches.checks import asking, runs, taking
from matches.models import Check
from tests.matches.reports import report

NOW = datetime(2030, 1, 15, 10, 0, tzinfo=UTC)
LOCAL, REMOTE = Caller("127.0.0.1"), Caller("192.0.2.7")
INSTRUCTOR = Caller("192.0.2.9", instructor=True)
URL = "http://127.0.0.1:8101/mcp"


def after(seconds: float) -> datetime:
    """So many seconds after :data:`NOW`."""
    return NOW + timedelta(seconds=seconds)


def ask(endpoint: str = URL, caller: Caller = LOCAL, **how: Any) -> Check:
    return asking.ask(endpoint=endpoint, caller=caller, now=how.pop("now", NOW), **how)


def fill(number: int, *machines: str, asked_by: str = "192.0.2.99", now: datetime = NOW, **how: Any) -> None:
    """Make so many checks of these machines in turn, each of another port from 20000 on; they wait by default."""
    places = itertools.islice(itertools.cycle(machines), number)
    checks = [
        Check(address=f"{machine}|{port}", asked_by=asked_by, due_at=now, created_at=now, **how)
        for port, machine in enumerate(places, 20_000)
    ]
    Check.objects.bulk_create(checks)


def run(check: Check, *, passed: bool = True, found: Note | str | None = None, now: datetime = NOW, **how: Any) -> None:
    """Claim a check and finish it with a report; ``found`` is what its first call found at the address."""
    [job] = [one for one in taking.take(now=now) if one.check_id == check.pk]
    assert runs.finish(check_id=job.check_id, run=job.run, report=report(passed=passed, **how), found=found, now=now)
