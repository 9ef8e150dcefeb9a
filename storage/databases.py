"""The database: Django's settings of it, of SQLite and of PostgreSQL, and its connections outside of requests."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections

SESSION = " ".join(
    f"-c {name}={milliseconds}"
    for name, milliseconds in {
        # A process that is frozen or cut off in a transaction holds locks: the server ends it.
        "idle_in_transaction_session_timeout": 6000,
        # Shorter, so that whoever is tried again after it waits no longer than 10 s in all.
        "lock_timeout": 4000,
        "statement_timeout": 10_000,
        # The server looks whether the client is still there, also while it computes or waits for a lock.
        "client_connection_check_interval": 2000,
        "tcp_user_timeout": 6000,
        # These in seconds, the last a number of probes.
        "tcp_keepalives_idle": 3,
        "tcp_keepalives_interval": 2,
        "tcp_keepalives_count": 3,
    }.items()
)
"""PostgreSQL's settings of each session, as libpq's keyword ``options``; what DATABASE_URL has there comes after it."""
CLIENT = {
    "connect_timeout": "2",
    "keepalives_idle": "3",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "6000",
}
"""libpq's own limits, with which this side notices a server that is gone."""

AWAY_FOR_S = 5.0
"""For so long after a connection could not be had PostgreSQL counts as away."""
POOL = {"min_size": 4, "max_size": 8, "timeout": 3, "reconnect_timeout": 2}
"""Each thread uses one connection at a time. While the server is away the pool would try again less and less often, up
to minutes; with a short reconnect_timeout it gives up and starts again at the next request."""


def database(url: str | None, folder: Path) -> dict[str, Any]:
    """Django's database settings: ``postgres://…`` when given, else SQLite in the data folder.

    The query of the URL has further keywords of libpq (``?sslmode=verify-full&sslrootcert=/etc/ca.pem``), which
    override :data:`CLIENT` and :data:`SESSION`, and ``pgbouncer=true`` if it leads to a PgBouncer in transaction mode.

    Raises:
        ValueError: it is the URL of another kind of database, or cannot be read.
    """
    if not url:
        return {
            "ENGINE": "storage.sqlite3",
            "NAME": folder / "league.sqlite3",
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;",
            },
        }
    # Only here, as a site on SQLite has no driver for PostgreSQL.
    from storage.postgresql.base import Connection  # noqa: PLC0415

    parts, servers = split_servers(url, 5432)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(f"DATABASE_URL must begin with postgres://, not {parts.scheme}://")
    keywords = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)) if parts.query else {}
    pooled = keywords.pop("pgbouncer", "") in ("1", "true")
    if len(servers) > 1:
        keywords = {"target_session_attrs": "read-write"} | keywords
    # PgBouncer takes no settings at the start of a session: there its own configuration has them (deploy/pgbouncer).
    limits = {} if pooled else {"options": f"{SESSION} {keywords.pop('options', '')}".strip()}
    return {
        "ENGINE": "storage.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": ",".join(host for host, _port in servers),
        "PORT": ",".join(str(port) for _host, port in servers),
        "CONN_MAX_AGE": 0,
        # The pool tests a connection before it hands it out: it may have died while unused.
        "CONN_HEALTH_CHECKS": True,
        # A cursor on the server lives longer than a transaction, and PgBouncer's connections do not.
        "DISABLE_SERVER_SIDE_CURSORS": pooled,
        "OPTIONS": CLIENT | keywords | limits | {"pool": POOL | {"connection_class": Connection}},
    }


def split_servers(url: str, default_port: int) -> tuple[SplitResult, list[tuple[str, int]]]:
    """The parts of a URL with the first of its hosts, and all hosts with their ports.

    libpq takes several, separated by commas, of which one is in use. Each is read alone, as the standard library takes
    the first comma for a part of a port, and brackets after another host for an error.

    Raises:
        ValueError: a host or port cannot be read.
    """
    scheme, mark, rest = url.partition("://")
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    login, at, hosts = authority.rpartition("@")
    ones = [urlsplit(f"//{item}") for item in hosts.split(",")]
    parts = urlsplit(f"{scheme}{mark}{login}{at}{ones[0].netloc}{rest[len(authority) :]}")
    return parts, [(unquote(one.hostname or ""), one.port or default_port) for one in ones]


def is_away() -> bool:
    """Whether a connection to PostgreSQL could not be had a few seconds ago."""
    if connections[DEFAULT_DB_ALIAS].vendor != "postgresql":
        return False
    from storage.postgresql.base import DatabaseWrapper  # noqa: PLC0415 - only with a driver for PostgreSQL

    return time.monotonic() < DatabaseWrapper.away_until + AWAY_FOR_S


@contextmanager
def unhurried(alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Around migrations and copies, which may take long: without limits for statements, but for locks.

    Through PgBouncer the server's limits stay: a setting would reach any session.

    Args:
        alias: Django's name of the database.
    """
    connection = connections[alias]
    if connection.vendor != "postgresql" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        if not connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
            cursor.execute("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
    driver: Any = connection.connection
    driver.limit_s = None
    try:
        yield
    finally:
        # Not back into the pool with these settings.
        driver.close()
        connection.close()


@contextmanager
def outside_requests() -> Iterator[None]:
    """Around work for the database in a thread of our own, also as a decorator.

    A connection that was lost, or is too old, is closed after it, as Django does after a request.
    """
    try:
        yield
    finally:
        close_old_connections()
