"""No transaction, lock or silent server keeps another process waiting: the limits of our connections to PostgreSQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker

from matches.desk import busy
from storage.databases import database
from tests.e2e.servers import new_database
from tests.paths import ROOT
from tests.storage.test_databases_gone import server

__all__ = ("server",)
pytestmark = pytest.mark.long
HOLDER = """
import sys, psycopg
from pathlib import Path
from storage.databases import database
options = database(sys.argv[1], Path())["OPTIONS"]
options.pop("pool")
with psycopg.connect(sys.argv[1].partition("?")[0], **options) as held:
    held.execute("UPDATE heard SET at = at + 1")
    print("holds", flush=True)
    sys.stdin.read()
"""
"""A process that has changed a row and does not commit."""


def connect(url: str) -> Any:
    """A connection with the site's settings, as Django makes it."""
    settings = database(url, Path())
    return ConnectionHandler({"default": settings, "limited": settings})["limited"]


def run(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement as a request does: with a connection of the pool, given back afterwards."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
    finally:
        connection.close()


@pytest.fixture
def blocked(django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[Any, subprocess.Popen[str]]]:
    """A connection, and a frozen process that holds a lock on the row of the table ``heard``."""
    with new_database() as url, django_db_blocker.unblock():
        connection = connect(url)
        run(connection, "CREATE TABLE heard AS SELECT 1 AS at")
        words = [sys.executable, "-c", HOLDER, url]
        holder = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "holds\n"
            holder.send_signal(signal.SIGSTOP)
            yield connection, holder
        finally:
            holder.kill()
            holder.communicate()
            connection.close_pool()


def test_the_lock_of_a_frozen_process_ends_before_a_second_try(blocked: tuple[Any, subprocess.Popen[str]]) -> None:
    connection, _holder = blocked
    with pytest.raises(busy.DATABASE_ERRORS) as refused:
        run(connection, "UPDATE heard SET at = 7")
    assert getattr(refused.value.__cause__, "sqlstate", "") in busy.RETRYABLE_SQLSTATES
    run(connection, "UPDATE heard SET at = 8")
    # What the frozen process had changed was rolled back.
    assert run(connection, "SELECT at FROM heard") == [(8,)]


def test_a_transaction_that_stood_still_is_one_that_may_be_tried_again(django_db_blocker: DjangoDbBlocker) -> None:
    with new_database() as url, django_db_blocker.unblock():
        connection = connect(url)
        try:
            connection.set_autocommit(False)
            with connection.cursor() as cursor, psycopg.connect(url, autocommit=True) as other:
                cursor.execute("SELECT pg_backend_pid()")
                there = "SELECT FROM pg_stat_activity WHERE pid = %s"
                [pid] = cursor.fetchone()
                # Only now: on a busy machine a millisecond passes between two statements.
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
                while other.execute(there, [pid]).rowcount:
                    continue
                with pytest.raises(busy.DATABASE_ERRORS) as ended:
                    cursor.execute("SELECT 1")
            assert getattr(ended.value.__cause__, "sqlstate", "") in busy.RETRYABLE_SQLSTATES
            connection.close()
            assert run(connection, "SELECT 1") == [(1,)]
        finally:
            connection.close_pool()


def test_a_frozen_server_is_given_up_and_used_again_when_it_answers(
    server: Any, django_db_blocker: DjangoDbBlocker
) -> None:
    with django_db_blocker.unblock():
        connection = connect(server.url)
        try:
            first = run(connection, "SELECT pg_backend_pid()")
            # All processes of the server, as when its machine is frozen: what is sent to it is still acknowledged.
            frozen = server.processes()
            for pid in frozen:
                os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(OperationalError):
                    run(connection, "SELECT 1")
                # While it is known to be away nobody waits for it.
                with pytest.raises(OperationalError, match="a moment ago"):
                    run(connection, "SELECT 1")
            finally:
                for pid in frozen:
                    os.kill(pid, signal.SIGCONT)
            again: list[tuple[Any, ...]] = []
            while not again:
                try:
                    again = run(connection, "SELECT pg_backend_pid()")
                except OperationalError:
                    continue
            assert again != first
        finally:
            connection.close_pool()
