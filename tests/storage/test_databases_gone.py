"""PostgreSQL goes away and comes back, as for an upgrade."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker

from storage.databases import database
from storage.postgresql import base
from tests.chaos.servers import NotInstalled, Postgres, require_programs

pytestmark = pytest.mark.long
ALIAS = "gone"
FAILED_QUERIES = 9
"""Queries while PostgreSQL is away, of one second each: after so long, a pool with psycopg's own ``reconnect_timeout``
would wait some five seconds before it tries to connect again."""


@pytest.fixture
def server() -> Iterator[Postgres]:
    # Not pytest's own folder: PostgreSQL runs as another user, who may not enter it.
    folder = Path(tempfile.mkdtemp(prefix="gone-"))
    try:
        require_programs()
    except NotInstalled as missing:
        if os.environ.get("LEAGUE_CI"):
            raise
        pytest.skip(str(missing))
    server = Postgres(folder)
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


def test_the_first_query_after_postgresql_is_back_is_answered(
    server: Postgres, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only the pool is tried here.
    monkeypatch.setattr(base, "AWAY_S", 0.0)
    settings = database(server.url, Path())
    settings["OPTIONS"]["pool"] |= {"timeout": 1}
    connection = ConnectionHandler({"default": settings, ALIAS: settings})[ALIAS]

    def ask() -> list[tuple[int]]:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                return list(cursor.fetchall())
        finally:
            connection.close()

    with django_db_blocker.unblock():
        try:
            assert ask() == [(1,)]
            server.kill()
            for _ in range(FAILED_QUERIES):
                with pytest.raises(OperationalError):
                    ask()
            server.start()
            assert ask() == [(1,)]
        finally:
            connection.close_pool()
