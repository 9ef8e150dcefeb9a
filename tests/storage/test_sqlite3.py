"""The SQLite engine that caches translated statements translates them as Django's engine does."""

from __future__ import annotations

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections

from storage import inside
from storage.sqlite3 import base

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="another database is used: no SQLite"),
]


def test_percent_signs_and_both_kinds_of_parameters_are_translated() -> None:
    assert isinstance(connections[DEFAULT_DB_ALIAS], base.DatabaseWrapper)
    for value in ("?", "%s", "100 %", "it's"):
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s, 'five %% and %%s', 7 %% 4, '?'", [value])
            assert cursor.fetchall() == [(value, "five % and %s", 3, "?")]
            cursor.execute("SELECT %(one)s, %(one)s", {"one": value})
            assert cursor.fetchall() == [(value, value)]
            cursor.execute("SELECT '100 %', '%s'")
            assert cursor.fetchall() == [("100 %", "%s")]


def test_a_statement_is_translated_once() -> None:
    inside._positional.cache_clear()
    with connection.cursor() as cursor:
        for number in range(5):
            cursor.execute("SELECT %s", [number])
            assert cursor.fetchall() == [(number,)]
        cursor.execute("CREATE TEMPORARY TABLE kept (n)")
        for _ in range(5):
            cursor.executemany("INSERT INTO kept VALUES (%s)", [[1], [2]])
        cursor.execute("SELECT count(*), sum(n) FROM kept")
        assert cursor.fetchall() == [(10, 15)]
    cache = inside._positional.cache_info()
    assert (cache.hits, cache.misses) == (8, 2)
