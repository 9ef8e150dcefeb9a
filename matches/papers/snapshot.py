"""A long read of the database as of one moment, while a league goes on being played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_moment() -> Iterator[None]:
    """Everything read within this stood in the database at one and the same moment; nothing may be written.

    Django's own transactions would hold SQLite's one place for a writer all the time, and the league would stand still.
    """
    if connection.in_atomic_block:
        # A test, or a caller who has seen to it.
        yield
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
