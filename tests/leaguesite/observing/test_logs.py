"""The site's log while the database is away."""

from __future__ import annotations

import logging

import psycopg
import pytest
from django.db import OperationalError

from leaguesite.observing import logs
from tests.clock import Clock


def test_while_postgresql_is_away_each_place_says_so_in_one_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(logs.time, "monotonic", clock)
    quiet = logs.DatabaseAway()

    def record(message: str, error: Exception | None, name: str = "matches") -> logging.LogRecord:
        exc_info = (type(error), error, None) if error is not None else None
        return logging.LogRecord(name, logging.ERROR, "", 1, message, (), exc_info)

    away = OperationalError("server at 10.0.0.7: ended")
    away.__cause__ = psycopg.OperationalError("ended")
    first = record("a look failed", away)
    # Terminal and file ask about the same record.
    assert (quiet.filter(first), quiet.filter(first)) == (True, True)
    assert (first.getMessage(), first.exc_info) == ("a look failed: server at 10.0.0.7: ended", None)
    others = [record("a look failed", away), record("a page failed", away), record("a look failed", KeyError("n"))]
    assert [quiet.filter(one) for one in others] == [False, True, True]
    assert others[2].exc_info is not None
    # SQLite says the same of a column that does not exist: that is a failure of ours.
    assert [quiet.filter(record("a look failed", OperationalError("no such column"))) for _ in range(2)] == [True, True]
    assert [quiet.filter(record("connecting", None, "psycopg.pool")) for _ in range(2)] == [True, False]
    clock.now += logs.QUIET_S
    assert quiet.filter(record("a look failed", away))
