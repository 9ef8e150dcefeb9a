"""When a page is drawn again, without sockets and without a database."""

from __future__ import annotations

import asyncio
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.live import hub as hubs
from matches.push import notify
from tests.matches.agent_server import PATIENCE_S

BOARD, MATCH = PageKey("board", "fall"), PageKey("match", "fall", "R1M1")


async def reach(listener: hubs.Listener | None, seq: int) -> None:
    """Wait until the page of a listener has changed so often."""
    assert listener is not None
    async with asyncio.timeout(PATIENCE_S):
        while listener.page.seq < seq:
            listener.news.clear()
            await listener.news.wait()


def leave(hub: hubs.Hub, listeners: list[hubs.Listener | None]) -> None:
    for listener in listeners:
        assert listener is not None
        hub.leave(listener)


async def test_a_page_is_looked_at_though_nobody_says_that_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "LOOK_AFTER_S", 0.001)
    monkeypatch.setattr(hubs, "SPACING_S", 0.0)
    monkeypatch.setattr(notify, "get_channel_layer", lambda: None)
    seen = itertools.count()
    monkeypatch.setattr(pages, "fragments", lambda key, language: {"header": str(next(seen))})
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread)
        listeners = [await hub.join(key, "en") for key in (BOARD, MATCH)]
        for listener in listeners:
            await reach(listener, 5)
        leave(hub, listeners)


async def test_the_page_that_most_look_at_is_the_first_to_be_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    drawn: list[PageKey] = []
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def draw(key: PageKey, language: str) -> dict[str, str]:
        drawn.append(key)
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(PATIENCE_S)
        return {"header": str(len(drawn))}

    monkeypatch.setattr(pages, "fragments", draw)
    monkeypatch.setattr(notify, "get_channel_layer", lambda: None)
    crowd = [PageKey("match", "fall", f"R1M{number}") for number in range(20)]
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread, lambda: now)
        go_on.set()
        listeners = [await hub.join(key, "en") for key in (*crowd, BOARD, BOARD, BOARD)]
        drawn.clear()
        begun.clear()
        go_on.clear()
        hub._mark({"fall": []})
        await begun.wait()
        now = 1.0
        go_on.set()
        for listener in listeners:
            await reach(listener, 2)
        leave(hub, listeners)
    assert drawn[:3] == [crowd[0], BOARD, crowd[1]]


async def test_pages_are_drawn_again_when_rows_say_that_they_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "SPACING_S", 0.0)
    monkeypatch.setattr(hubs, "LOOK_AFTER_S", 3600.0)
    monkeypatch.setattr(hubs, "ROWS_AFTER_S", 0.001)
    monkeypatch.setattr(notify, "get_channel_layer", lambda: None)
    loop, drawn = asyncio.get_running_loop(), asyncio.Queue[PageKey]()
    asked: list[set[str]] = []
    told: list[dict[str, list[str]] | Exception] = []
    count = itertools.count()

    def since(leagues: set[str]) -> dict[str, list[str]]:
        asked.append(leagues)
        answer = told.pop(0) if told else {}
        if isinstance(answer, Exception):
            raise answer
        return answer

    def draw(key: PageKey, language: str) -> dict[str, str]:
        loop.call_soon_threadsafe(drawn.put_nowait, key)
        return {"header": str(next(count))}

    monkeypatch.setattr(pages, "fragments", draw)
    keys = [BOARD, MATCH, PageKey("match", "fall", "R1M2"), PageKey("board", "spring"), PageKey("index")]
    listed: list[bool] = []
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread, lambda: 0.0)
        monkeypatch.setattr(hub._changes, "since", since)
        monkeypatch.setattr(hub._changes, "in_list", lambda: listed.pop() if listed else False)
        listeners = [await hub.join(key, "en") for key in keys]
        assert [await drawn.get() for _ in listeners] == keys
        async with asyncio.timeout(PATIENCE_S):
            told += [{}, {"fall": ["R1M1"]}]
            named = {await drawn.get() for _ in range(3)}
            told += [OSError("no database"), {"fall": []}]
            whole = {await drawn.get() for _ in range(4)}
            listed.append(True)
            index = await drawn.get()
        leave(hub, listeners)
    assert named == {BOARD, MATCH, keys[4]}
    assert whole == {*keys[:3], keys[4]}
    assert index == keys[4]
    assert {"fall", "spring"} in asked


@pytest.mark.parametrize(
    ("marks", "rests"),
    [
        # (whether it is doubtful, whether something is different)
        ([(True, False)], False),
        ([(True, True)], True),
        ([(False, False)], True),
        ([(True, False), (False, False)], True),
        ([(False, False), (True, False)], True),
        ([], True),
    ],
)
async def test_only_a_page_that_was_drawn_for_old_news_does_not_rest(
    monkeypatch: pytest.MonkeyPatch, marks: list[tuple[bool, bool]], rests: bool
) -> None:
    different = any(one for _, one in marks)
    monkeypatch.setattr(pages, "fragments", lambda key, language: {"header": "new" if different else "the same"})
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread, lambda: 0.0)
        page = hubs.Page(BOARD, "en")
        page.update({"header": "the same"})
        for doubtful, _ in marks:
            page.mark(doubtful=doubtful)
        assert await hub._render(page) is rests


async def test_a_change_does_not_wait_behind_rows_that_say_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPACING_S", "LOOK_AFTER_S", "ROWS_AFTER_S"):
        monkeypatch.setattr(hubs, name, 3600.0)
    monkeypatch.setattr(notify, "get_channel_layer", lambda: None)
    loop, drawn = asyncio.get_running_loop(), asyncio.Queue[PageKey]()

    def draw(key: PageKey, language: str) -> dict[str, str]:
        loop.call_soon_threadsafe(drawn.put_nowait, key)
        return {"header": "the same"}

    monkeypatch.setattr(pages, "fragments", draw)
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread, lambda: 0.0)
        listener = await hub.join(BOARD, "en")
        assert listener is not None
        async with asyncio.timeout(PATIENCE_S):
            await drawn.get()
            for doubtful in (True, True, False):
                hub._mark({"fall": []}, doubtful=doubtful)
                await drawn.get()
        hub.leave(listener)
