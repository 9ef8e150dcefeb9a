"""Whose job runs when."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from leaguesite.serving.turns import Turns
from tests.leaguesite.serving.asgi import PATIENCE_S


def test_callers_take_turns() -> None:
    turns, done = Turns(), []
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(go_on.wait, PATIENCE_S)
        for who in "AAAABBC":
            turns.submit(thread, who, lambda who=who: done.append(who))
        go_on.set()
    assert "".join(done) == "ABCABAA"


def test_what_was_cancelled_is_not_run_and_what_fails_is_told() -> None:
    turns, done, go_on = Turns(), [], threading.Event()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(go_on.wait, PATIENCE_S)
        first = turns.submit(thread, "A", lambda: done.append(1))
        second = turns.submit(thread, "A", lambda: 1 // 0)
        third = turns.submit(thread, "A", lambda: "well")
        first.cancel()
        go_on.set()
        assert isinstance(second.exception(PATIENCE_S), ZeroDivisionError)
        assert third.result(PATIENCE_S) == "well"
    assert done == []
