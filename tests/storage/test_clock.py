"""The clock of the database is everybody's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.backends.signals import connection_created
from django.utils import timezone

from storage import clock

AT = datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC)


class Database:
    """A connection to a PostgreSQL whose clock says ``at``."""

    vendor = "postgresql"

    def __init__(self, at: datetime = AT) -> None:
        self.at = at
        self.asked = 0

    def cursor(self) -> Any:
        return self

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.asked += 1

    def execute(self, statement: str) -> None:
        assert statement == "SELECT clock_timestamp()"

    def fetchall(self) -> list[tuple[datetime]]:
        return [(self.at,)]


@pytest.fixture
def following() -> Iterator[None]:
    clock.follow()
    try:
        yield
    finally:
        connection_created.disconnect(clock._read_clock)
        clock._read = None


def test_a_process_that_does_not_follow_has_its_own_time() -> None:
    connection_created.send(sender=Database, connection=Database())
    assert abs(clock.now() - timezone.now()) < timedelta(minutes=1)


@pytest.mark.usefixtures("following")
def test_the_time_is_that_of_the_database_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database()
    connection_created.send(sender=Database, connection=database)
    # What the machine's own clock says plays no part.
    monkeypatch.setattr(timezone, "now", lambda: datetime(1999, 1, 1, tzinfo=UTC))
    first = clock.now()
    assert AT < first < clock.now() < AT + timedelta(minutes=1)


@pytest.mark.usefixtures("following")
def test_the_clock_is_read_once() -> None:
    for database in (first := Database(), second := Database(AT + timedelta(hours=1))):
        connection_created.send(sender=Database, connection=database)
    assert (first.asked, second.asked) == (1, 0)
    assert clock.now() < AT + timedelta(minutes=1)


@pytest.mark.usefixtures("following")
def test_sqlite_has_the_machines_own_clock() -> None:
    database = Database()
    database.vendor = "sqlite"
    connection_created.send(sender=Database, connection=database)
    assert database.asked == 0
    assert abs(clock.now() - timezone.now()) < timedelta(minutes=1)


@pytest.mark.usefixtures("following")
def test_an_answer_that_was_long_on_its_way_does_not_set_the_clock_back(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = [1000.0]
    monkeypatch.setattr(time, "clock_gettime", lambda _: steady[0])
    ways_s = iter([40.0, 0.5, 2.0])

    class Slow(Database):
        """A database whose answer takes its time, all of it on its way back."""

        def fetchall(self) -> list[tuple[datetime]]:
            at = AT + timedelta(seconds=steady[0] - 1000)
            steady[0] += next(ways_s)
            return [(at,)]

    connection_created.send(sender=Slow, connection=Slow())
    assert abs(clock.now() - (AT + timedelta(seconds=steady[0] - 1000))) <= timedelta(seconds=0.25)
