"""Real PostgreSQL and real Redis for one test: a database of its own, a Redis server of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import redis

from tests.e2e.site import free_port, wait_for

POSTGRES = os.environ.get("LEAGUE_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
"""A PostgreSQL server on which tests may create and drop databases."""


def missing(what: str) -> None:
    """Skip the test; in CI, where every server has to be there, fail it."""
    (pytest.fail if os.environ.get("LEAGUE_CI") else pytest.skip)(what)


@contextmanager
def new_database(encoding: str = "UTF8") -> Iterator[str]:
    """The URL of an empty database, dropped when the block ends even if a process is still connected."""
    name = f"leaguesite_{uuid.uuid4().hex[:12]}"
    try:
        with psycopg.connect(POSTGRES, autocommit=True, connect_timeout=5) as server:
            server.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    except psycopg.OperationalError as error:
        missing(f"PostgreSQL does not answer at {POSTGRES}, or makes no database: {error}")
    try:
        yield urlunsplit(urlsplit(POSTGRES)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(POSTGRES, autocommit=True, connect_timeout=5) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


class Redis:
    """A Redis server on a port of its own, which saves nothing to disk."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("redis-server") is None:
            missing("redis-server is not installed")
        self._folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        """Start it (again), on the same port; returns when it answers."""
        self._run("--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no")

    def _run(self, *words: str) -> None:
        command = ["redis-server", *words, "--dir", str(self._folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("Redis answers", self._answers)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        """End the server by SIGKILL."""
        self.process.kill()
        self.process.wait()
