"""Two at once: something happens in the middle of something else, on this connection or on another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections

from matches.events.history import Moment
from matches.league.errors import ActionRefused
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import agree

LONG_S = 60


def before(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, happens: Callable[[], Any]) -> None:
    """Have ``happens`` called once, just before a function is called for the first time."""
    function, done = getattr(holder, name), []

    def late(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(True)
            happens()
        return function(*args, **kwargs)

    monkeypatch.setattr(holder, name, late)


def after(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, happens: Callable[[], Any]) -> None:
    """Have ``happens`` called once, just after a function returned for the first time."""
    function, done = getattr(holder, name), []

    def early(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not done:
            done.append(True)
            happens()
        return result

    monkeypatch.setattr(holder, name, early)


def somebody_waits() -> bool:
    """Whether another connection waits for a lock of this one (PostgreSQL)."""
    with connection.cursor() as cursor:
        cursor.execute("select 1 from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))")
        return cursor.fetchone() is not None


class Other:
    """Acts on another thread with another database connection."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self._threads: list[threading.Thread] = []

    def begins(self, action: Callable[[], Any]) -> None:
        """Start an action; it may have to wait for locks of this connection."""

        def act() -> None:
            try:
                self.answers.append(action())
            except Exception as error:
                self.answers.append(error)
            finally:
                connections.close_all()

        thread = threading.Thread(target=act)
        self._threads.append(thread)
        thread.start()

    def does(self, action: Callable[[], Any]) -> None:
        """Start an action; on PostgreSQL return when it has ended, or waits for a lock of this connection."""
        self.begins(action)
        while connection.vendor == "postgresql" and self._threads[-1].is_alive() and not somebody_waits():
            pass

    def is_done(self) -> Any:
        """Wait for all actions; returns the result, or the error, of the last one to end."""
        for thread in self._threads:
            thread.join(LONG_S)
            assert not thread.is_alive()
        return self.answers[-1]


def tried(action: Callable[[], Any]) -> Any:
    """The result of an action, or its refusal."""
    try:
        return action()
    except ActionRefused as refusal:
        return refusal


def assert_rows_agree(place: make.Setting) -> Moment:
    """Assert that rows and events agree about results, about players that are out, and about the league's state."""
    agree(place)
    league = place.league
    then = sight.everything(league).moment
    assert {player: entry["word"] for player, entry in league.out.items()} == then.out
    assert str(then.state) == league.state
    return then
