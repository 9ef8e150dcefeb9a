"""Which page is rendered next."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from matches.live.turns import Turns


@dataclass
class Page:
    """A page with this many viewers."""

    name: str
    urgent: bool = True
    viewers: int = 1
    listeners: range = field(init=False)

    def __post_init__(self) -> None:
        self.listeners = range(self.viewers)


class Thread:
    """Renders one page after the other; its clock moves only when the test moves it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.turns = Turns(lambda: self.now)
        self.rendered: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def wants(self, page: Page) -> asyncio.Task[None]:
        """Let a page wait for its turn."""
        task = asyncio.create_task(self._wait(page))
        self.tasks.append(task)
        await let_tasks_run()
        return task

    async def _wait(self, page: Page) -> None:
        await self.turns.wait(page)
        self.rendered.append(page.name)

    async def done(self, refresh_s: float = 0.0) -> None:
        self.turns.give_back(refresh_s)
        await let_tasks_run()

    async def passes(self, seconds: float) -> None:
        self.now += seconds
        self.turns.go_on()
        await let_tasks_run()


async def let_tasks_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def thread() -> Thread:
    """A thread that is rendering a page."""
    thread = Thread()
    await thread.wants(Page("first"))
    assert thread.rendered.pop() == "first"
    return thread


async def test_changed_pages_are_rendered_before_refreshes_in_their_order(thread: Thread) -> None:
    for page in (Page("refreshed", urgent=False), Page("one"), Page("two")):
        await thread.wants(page)
    for _ in range(3):
        await thread.done()
    assert thread.rendered == ["one", "two", "refreshed"]


@pytest.mark.parametrize("urgent", [True, False])
async def test_a_page_with_many_listeners_does_not_wait_for_many_pages_with_one(thread: Thread, urgent: bool) -> None:
    for number in range(900):
        await thread.wants(Page(f"page {number}", urgent))
    thread.now += 1.0
    await thread.wants(Page("board", urgent, viewers=200))
    thread.now += 0.01
    for _ in range(2):
        await thread.done()
    assert thread.rendered == ["board", "page 0"]
    for task in thread.tasks:
        task.cancel()


async def test_a_page_with_one_listener_gets_its_turn_among_pages_with_more(thread: Thread) -> None:
    await thread.wants(Page("mine"))
    for number in range(10):
        thread.now += 1.0
        await thread.wants(Page(f"board {number}", viewers=5))
        thread.now += 1.0
        await thread.done()
    assert thread.rendered[:4] == ["board 0", "board 1", "mine", "board 2"]
    await thread.done()


async def test_refreshes_take_at_most_half_of_the_time(thread: Thread) -> None:
    pages = [Page("one", urgent=False), Page("two", urgent=False), Page("three", urgent=False)]
    for page in pages:
        await thread.wants(page)
    await thread.done()
    assert thread.rendered == ["one"]
    await thread.done(refresh_s=2.0)
    await thread.passes(1.9)
    assert thread.rendered == ["one"]
    # The page changes while it waits for its refresh.
    pages[2].urgent = True
    await thread.passes(0.0)
    assert thread.rendered == ["one", "three"]
    await thread.done()
    await thread.wants(Page("changed"))
    assert thread.rendered == ["one", "three", "changed"]
    await thread.done()
    await thread.passes(0.2)
    assert thread.rendered == ["one", "three", "changed", "two"]


async def test_a_delayed_refresh_gets_its_turn_by_a_timer() -> None:
    turns = Turns()
    await turns.wait(Page("one", urgent=False))
    turns.give_back(refresh_s=0.01)
    await turns.wait(Page("two", urgent=False))


async def test_a_cancelled_waiter_passes_its_turn_on(thread: Thread) -> None:
    waiting = await thread.wants(Page("gone"))
    turn = await thread.wants(Page("gone as well"))
    waiting.cancel()
    await let_tasks_run()
    thread.turns.give_back()
    # It was given the turn, but its task has not run yet.
    turn.cancel()
    await thread.wants(Page("next"))
    assert thread.rendered == ["next"]


async def test_a_waiter_that_is_being_cancelled_gets_no_turn(thread: Thread) -> None:
    gone = await thread.wants(Page("gone", viewers=9))
    await thread.wants(Page("next"))
    gone.cancel()
    # Its task has not run yet.
    thread.turns.give_back()
    await let_tasks_run()
    assert thread.rendered == ["next"]
    assert gone.cancelled()
