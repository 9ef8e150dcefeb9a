"""Two changes at once: one is made in the middle of the other, on this database connection or on another."""

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
from tests.matches.correcting import assert_results_agree

LONG_S = 60


def call_before(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, action: Callable[[], Any]) -> None:
    """Have ``action`` called once, just before a function is called for the first time."""
    function, done = getattr(holder, name), []

    def function_after_action(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(True)
            action()
        return function(*args, **kwargs)

    monkeypatch.setattr(holder, name, function_after_action)


def call_after(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, action: Callable[[], Any]) -> None:
    """Have ``action`` called once, just after a function returned for the first time."""
    function, done = getattr(holder, name), []

    def function_before_action(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not done:
            done.append(True)
            action()
        return result

    monkeypatch.setattr(holder, name, function_before_action)


def somebody_waits() -> bool:
    """Whether another connection waits for a lock of this one (PostgreSQL)."""
    with connection.cursor() as cursor:
        cursor.execute("select 1 from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))")
        return cursor.fetchone() is not None


class Other:
    """Runs actions on another thread with another database connection."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self._threads: list[threading.Thread] = []

    def begin(self, action: Callable[[], Any]) -> None:
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

    def run(self, action: Callable[[], Any]) -> None:
        """Start an action; on PostgreSQL return when it has ended, or waits for a lock of this connection."""
        self.begin(action)
        while connection.vendor == "postgresql" and self._threads[-1].is_alive() and not somebody_waits():
            pass

    def wait(self) -> Any:
        """Wait for all actions; returns the result, or the error, of the last one to end."""
        for thread in self._threads:
            thread.join(LONG_S)
            assert not thread.is_alive()
        return self.answers[-1]


def result_or_refusal(action: Callable[[], Any]) -> Any:
    """The result of an action, or the error with which it was refused."""
    try:
        return action()
    except ActionRefused as refusal:
        return refusal


def assert_rows_agree(made: make.MadeLeague) -> Moment:
    """Assert that rows and events agree about results, about players that are out, and about the league's state."""
    assert_results_agree(made)
    league = made.league
    moment = sight.everything(league).moment
    assert {player: entry["word"] for player, entry in league.out.items()} == moment.out
    assert str(moment.state) == league.state
    return moment
