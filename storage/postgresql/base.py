"""Django's engine for PostgreSQL, with limits of this side: a server that is silent keeps no thread waiting.

A server can be silent without a connection being lost: if it is frozen, its machine still acknowledges what we send.
The limits that the server itself keeps are in :mod:`storage.databases`.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

import psycopg
from django.db.backends.postgresql import base

ANSWER_LIMIT_S = 12.0
"""How long one statement may take: a little longer than the server allows it, so that the server says so first."""
CHECK_LIMIT_S = 1.0
"""How long a connection that was idle may take to answer before it is replaced by a new one."""
AWAY_S = 1.0
"""After a connection could not be had, how long further requests are refused at once. Each has waited in line already,
and would wait for the whole time limit of the pool."""


class Connection(psycopg.Connection[Any]):
    """A connection that is closed when the server does not answer.

    Attributes:
        limit_s: how long a statement may take, in seconds; None without a limit.
    """

    limit_s: float | None = ANSWER_LIMIT_S

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server.

        Raises:
            psycopg.OperationalError: it was silent for ``limit_s``. Whether a commit has arrived is not known.
        """
        try:
            return super().wait(gen, interval, self.limit_s if timeout is None else timeout)
        except psycopg.errors._WaitTimeout:
            if timeout is not None:
                raise
            self.close()
            raise psycopg.OperationalError("the server was silent for too long") from None

    def execute(self, query: Any, *arguments: Any, **options: Any) -> Any:
        """Run a statement; an empty one is how the pool checks a connection before it hands it out."""
        self.limit_s = ANSWER_LIMIT_S if query else CHECK_LIMIT_S
        cursor = super().execute(query, *arguments, **options)
        self.limit_s = ANSWER_LIMIT_S
        return cursor


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, which refuses at once for a moment after no connection could be had."""

    away_until: ClassVar[float] = 0.0

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection, from the pool if there is one.

        Raises:
            psycopg.OperationalError: the server does not answer.
        """
        if self.pool and time.monotonic() < DatabaseWrapper.away_until:
            raise psycopg.OperationalError("the database did not answer a moment ago")
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            DatabaseWrapper.away_until = time.monotonic() + AWAY_S
            raise
