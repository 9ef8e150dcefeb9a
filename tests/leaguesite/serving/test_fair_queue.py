"""Callers take turns in front of a thread."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from leaguesite.serving.fair_queue import FairQueue
from tests.leaguesite.serving.asgi import PATIENCE_S


def test_callers_take_turns() -> None:
    turns, done = FairQueue(), []
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(go_on.wait, PATIENCE_S)
        for who in "AAAABBC":
            turns.submit(thread, who, lambda who=who: done.append(who))
        go_on.set()
    assert "".join(done) == "ABCABAA"


def test_a_cancelled_job_does_not_run_and_an_error_is_in_the_future() -> None:
    turns, done, go_on = FairQueue(), [], threading.Event()
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
