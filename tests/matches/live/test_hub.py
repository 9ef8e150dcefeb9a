"""When a page is rendered again, without sockets and without a database."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from matches.audience.pages import PageKey
from matches.live import hub as hubs
from matches.live.changes import Changes
from matches.live.hub import Hub, Pace
from tests.matches.agent_server import PATIENCE_S

BOARD, MATCH = PageKey("board", "fall"), PageKey("match", "fall", "R1M1")
NEVER_S = 3600.0


async def no_messages(_hear: Callable[[Any], None]) -> None:
    """The channel layer of a process that hears nothing."""


async def reach(listener: hubs.Listener | None, seq: int) -> None:
    """Wait until the page of a listener has reached this number of changes."""
    assert listener is not None
    async with asyncio.timeout(PATIENCE_S):
        while listener.page.seq < seq:
            listener.news.clear()
            await listener.news.wait()


def leave(hub: Hub, listeners: list[hubs.Listener | None]) -> None:
    for listener in listeners:
        assert listener is not None
        hub.leave(listener)


async def test_a_page_is_rendered_regularly_without_a_message() -> None:
    seen = itertools.count()
    with ThreadPoolExecutor(1) as thread:
        hub = Hub(
            thread,
            pace=Pace(spacing_s=0.0, refresh_interval_s=0.001, charts_interval_s=0.0),
            render=lambda key, language, without: {"header": str(next(seen))},
            listen=no_messages,
        )
        listeners = [await hub.join(key, "en") for key in (BOARD, MATCH)]
        for listener in listeners:
            await reach(listener, 5)
        leave(hub, listeners)


async def test_the_page_with_most_listeners_is_rendered_next() -> None:
    now = 0.0
    rendered: list[PageKey] = []
    # Each rendering must differ: one that equals the last is not told to listeners, and the test would wait in vain.
    count = itertools.count()
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        rendered.append(key)
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(PATIENCE_S)
        return {"header": str(next(count))}

    crowd = [PageKey("match", "fall", f"R1M{number}") for number in range(20)]
    with ThreadPoolExecutor(1) as thread:
        hub = Hub(thread, clock=lambda: now, render=render, listen=no_messages)
        go_on.set()
        listeners = [await hub.join(key, "en") for key in (*crowd, BOARD, BOARD, BOARD)]
        rendered.clear()
        begun.clear()
        go_on.clear()
        hub._mark({"fall": []})
        await begun.wait()
        now = 1.0
        go_on.set()
        for listener in listeners:
            await reach(listener, 2)
        leave(hub, listeners)
    assert rendered[:3] == [crowd[0], BOARD, crowd[1]]


async def test_pages_are_rendered_again_when_their_rows_have_changed() -> None:
    loop, rendered = asyncio.get_running_loop(), asyncio.Queue[PageKey]()
    calls: list[set[str]] = []
    answers: list[dict[str, list[str]] | Exception] = []
    count = itertools.count()

    class Rows(Changes):
        def since(self, leagues: Any) -> dict[str, list[str]]:
            calls.append(leagues)
            answer = answers.pop(0) if answers else {}
            if isinstance(answer, Exception):
                raise answer
            return answer

        def is_list_changed(self) -> bool:
            return listed.pop() if listed else False

    def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        loop.call_soon_threadsafe(rendered.put_nowait, key)
        return {"header": str(next(count))}

    keys = [BOARD, MATCH, PageKey("match", "fall", "R1M2"), PageKey("board", "spring"), PageKey("index")]
    listed: list[bool] = []
    with ThreadPoolExecutor(1) as thread:
        pace = Pace(spacing_s=0.0, rows_interval_s=0.001, refresh_interval_s=NEVER_S)
        hub = Hub(thread, clock=lambda: 0.0, pace=pace, render=render, listen=no_messages, changes=Rows())
        listeners = [await hub.join(key, "en") for key in keys]
        assert [await rendered.get() for _ in listeners] == keys
        async with asyncio.timeout(PATIENCE_S):
            answers += [{}, {"fall": ["R1M1"]}]
            named = {await rendered.get() for _ in range(3)}
            answers += [OSError("no database"), {"fall": []}]
            whole = {await rendered.get() for _ in range(4)}
            listed.append(True)
            index = await rendered.get()
        leave(hub, listeners)
    assert named == {BOARD, MATCH, keys[4]}
    assert whole == {*keys[:3], keys[4]}
    assert index == keys[4]
    assert {"fall", "spring"} in calls


async def test_charts_are_left_out_of_renderings_that_follow_each_other_and_come_in_the_end() -> None:
    loop, left_out = asyncio.get_running_loop(), asyncio.Queue[frozenset[str]]()
    now = 0.0

    def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        loop.call_soon_threadsafe(left_out.put_nowait, without)
        return {"header": "the same"}

    with ThreadPoolExecutor(1) as thread:
        pace = Pace(spacing_s=0.0, rows_interval_s=NEVER_S, refresh_interval_s=NEVER_S, charts_interval_s=0.001)
        hub = Hub(thread, clock=lambda: now, pace=pace, render=render, listen=no_messages)
        listener = await hub.join(BOARD, "en")
        async with asyncio.timeout(PATIENCE_S):
            assert await left_out.get() == frozenset()
            hub._mark({"fall": []})
            assert await left_out.get() == {"ranks", "cross"}
            # Nothing changes any more, and the charts are rendered all the same once it is time.
            now = 1.0
            while await left_out.get():
                continue
        leave(hub, [listener])


async def test_charts_that_cannot_be_rendered_are_tried_again_at_the_next_refresh_only() -> None:
    def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        if page.seq and not without:
            raise ValueError("no charts")
        return {"header": str(page.seq)}

    now = 0.0
    with ThreadPoolExecutor(1) as thread:
        hub = Hub(thread, clock=lambda: now, pace=Pace(refresh_interval_s=NEVER_S), render=render, listen=no_messages)
        page = hubs.Page(BOARD, "en")
        await hub._render(page)
        await hub._render(page)
        assert hub._until_refresh_s(page) == Pace().charts_interval_s
        now = Pace().charts_interval_s
        await hub._render(page)
        assert hub._until_refresh_s(page) == NEVER_S


async def test_a_page_without_charts_is_rendered_whole() -> None:
    with ThreadPoolExecutor(1) as thread:
        left_out: list[frozenset[str]] = []

        def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
            left_out.append(without)
            return {"header": str(len(left_out))}

        hub = Hub(thread, clock=lambda: 0.0, pace=Pace(spacing_s=0.0), render=render, listen=no_messages)
        listener = await hub.join(MATCH, "en")
        hub._mark({"fall": []})
        await reach(listener, 2)
        leave(hub, [listener])
    assert left_out == [frozenset(), frozenset()]


async def test_a_result_is_shown_sooner_than_another_change() -> None:
    loop, rendered = asyncio.get_running_loop(), asyncio.Queue[PageKey]()

    def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        loop.call_soon_threadsafe(rendered.put_nowait, key)
        return {"header": str(rendered.qsize())}

    # Only a result ends the wait between two renderings.
    pace = Pace(NEVER_S, results_spacing_s=0.0, gathering_s=0.0, rows_interval_s=NEVER_S, refresh_interval_s=NEVER_S)
    with ThreadPoolExecutor(1) as thread:
        hub = Hub(thread, pace=pace, render=render, listen=no_messages)
        listener = await hub.join(BOARD, "en")
        assert listener is not None
        async with asyncio.timeout(PATIENCE_S):
            await rendered.get()
            for _ in range(3):
                hub._hear({"leagues": {"fall": ["R1M1"]}})
                await let_tasks_run()
                assert rendered.empty()
                hub._hear({"leagues": {"fall": ["R1M1"]}, "results": ["fall"]})
                await rendered.get()
                hub._hear({"leagues": {"other": []}, "results": ["other"]})
                await let_tasks_run()
                assert rendered.empty()
        hub.leave(listener)


async def let_tasks_run() -> None:
    """Wait until every task has gone as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_results_that_come_together_are_shown_together() -> None:
    loop, rendered = asyncio.get_running_loop(), asyncio.Queue[int]()
    ended = 0

    def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        loop.call_soon_threadsafe(rendered.put_nowait, ended)
        return {"header": str(ended)}

    pace = Pace(0.0, results_spacing_s=0.0, gathering_s=0.01, rows_interval_s=NEVER_S, refresh_interval_s=NEVER_S)
    with ThreadPoolExecutor(1) as thread:
        hub = Hub(thread, pace=pace, render=render, listen=no_messages)
        listener = await hub.join(BOARD, "en")
        assert listener is not None
        async with asyncio.timeout(PATIENCE_S):
            assert await rendered.get() == 0
            for ended in range(1, 8):
                hub._hear({"leagues": {"fall": [f"R1M{ended}"]}, "results": ["fall"]})
                await let_tasks_run()
            assert await rendered.get() == 7
        hub.leave(listener)


@pytest.mark.parametrize(
    ("marks", "counts"),
    [
        # Of each mark: whether it is doubtful (the page may show the change already), whether the page has changed.
        ([(True, False)], False),
        ([(True, True)], True),
        ([(False, False)], True),
        ([(True, False), (False, False)], True),
        ([(False, False), (True, False)], True),
        ([], True),
    ],
)
async def test_a_rendering_counts_unless_a_doubtful_mark_found_nothing_new(
    marks: list[tuple[bool, bool]], counts: bool
) -> None:
    """After a rendering that counts the page waits before the next one."""
    header = "new" if any(different for _, different in marks) else "the same"
    with ThreadPoolExecutor(1) as thread:
        hub = Hub(thread, clock=lambda: 0.0, render=lambda key, language, without: {"header": header})
        page = hubs.Page(BOARD, "en")
        page.update({"header": "the same"})
        for doubtful, _ in marks:
            page.mark(doubtful=doubtful)
        await hub._render(page)
        assert (page.rendered_at == 0.0) is counts


async def test_a_change_does_not_wait_after_doubtful_marks_that_found_nothing_new() -> None:
    loop, rendered = asyncio.get_running_loop(), asyncio.Queue[PageKey]()
    now = 0.0

    def render(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        loop.call_soon_threadsafe(rendered.put_nowait, key)
        return {"header": "the same"}

    with ThreadPoolExecutor(1) as thread:
        hub = Hub(
            thread,
            clock=lambda: now,
            pace=Pace(spacing_s=NEVER_S, rows_interval_s=NEVER_S, refresh_interval_s=NEVER_S),
            render=render,
            listen=no_messages,
        )
        listener = await hub.join(BOARD, "en")
        assert listener is not None
        async with asyncio.timeout(PATIENCE_S):
            await rendered.get()
            # The snapshot was rendered long ago.
            now = 2 * NEVER_S
            for doubtful in (True, True, False):
                hub._mark({"fall": []}, doubtful=doubtful)
                await rendered.get()
        hub.leave(listener)


async def test_whoever_joins_a_page_that_cannot_be_rendered_is_not_told_that_it_is_missing() -> None:
    working = False

    def draw(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str] | None:
        if not working:
            raise RuntimeError("the database is away")
        return {"header": "here"} if key == BOARD else None

    with ThreadPoolExecutor(1) as thread:
        hub = Hub(thread, render=draw, listen=no_messages)
        with pytest.raises(hubs.NotRendered):
            await hub.join(BOARD, "en")
        assert (hub.sockets, hub._pages) == (0, {})
        working = True
        assert await hub.join(MATCH, "en") is None
        leave(hub, [await hub.join(BOARD, "en")])


async def test_a_listener_that_leaves_before_its_snapshot_is_removed() -> None:
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(key: PageKey, language: str, without: frozenset[str]) -> dict[str, str]:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(PATIENCE_S)
        return {"header": "late"}

    with ThreadPoolExecutor(1) as thread:
        hub = Hub(thread, render=slow, listen=no_messages)
        joining = asyncio.create_task(hub.join(BOARD, "en"))
        await begun.wait()
        joining.cancel()
        await asyncio.gather(joining, return_exceptions=True)
        go_on.set()
        assert (hub.sockets, hub._pages) == (0, {})
