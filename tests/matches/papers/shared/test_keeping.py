"""When SHARED is written: after a nudge, never too often, and again after each failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from matches.papers.shared.keeping import MAX_PAUSE_S, PAUSE_S, RETRY_S, Keeper
from matches.papers.shared.projection import Interrupted
from matches.push import nudge


class FakeProjection:
    """A projection whose passes do what a list says: take so many seconds, or fail."""

    def __init__(self, *steps: float | Exception) -> None:
        self.steps = list(steps)
        self.now = 0.0
        self.stopped = False

    def update(self) -> bool:
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        self.now += step
        return True

    def stop(self) -> None:
        self.stopped = True


async def pauses(fake: FakeProjection, leads: Callable[[], bool] = lambda: True) -> list[float]:
    """Run the keeper until no step is left; the pauses that it made, in seconds."""
    made: list[float] = []
    all_done = asyncio.Event()

    async def sleep(seconds: float) -> None:
        made.append(seconds)
        if fake.steps and len(made) < 10:
            nudge.wake(urgent=False)
        else:
            all_done.set()
            await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as executor:
        keeper = Keeper(fake, executor, leads=leads, sleep=sleep, monotonic=lambda: fake.now)  # type: ignore[arg-type] - a fake
        task = asyncio.create_task(keeper.keep())
        await all_done.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return made


async def test_the_pause_after_a_pass_is_ten_times_as_long_within_bounds() -> None:
    fake = FakeProjection(0.01, 0.5, 60.0)
    assert await pauses(fake) == [PAUSE_S, 5.0, MAX_PAUSE_S]
    assert fake.stopped


async def test_a_failure_is_logged_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    full = OSError(28, "No space left on device")
    with caplog.at_level(logging.WARNING):
        made = await pauses(FakeProjection(full, full, full, 0.01, 0.01))
    assert made == [RETRY_S, RETRY_S, RETRY_S, PAUSE_S, PAUSE_S]
    assert [record.getMessage() for record in caplog.records] == [
        "SHARED is not up to date, and is tried again (OSError: [Errno 28] No space left on device)",
        "SHARED is written again",
    ]
    assert caplog.records[0].exc_info in (None, False)


async def test_an_error_in_the_sites_code_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert await pauses(FakeProjection(KeyError("x"))) == [RETRY_S]
    assert caplog.records[0].exc_info


async def test_an_interrupted_pass_does_not_count_as_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert await pauses(FakeProjection(Interrupted())) == [PAUSE_S]
    assert caplog.records == []


async def test_only_the_conductor_with_the_lead_writes() -> None:
    fake = FakeProjection(0.01)
    assert await pauses(fake, leads=lambda: False) == [PAUSE_S] * 10
    assert fake.steps == [0.01]
