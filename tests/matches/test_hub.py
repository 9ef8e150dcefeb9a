"""When a page is drawn again, without sockets and without a database."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from matches import hub as hubs
from matches import live, pages
from matches.pages import PageKey
from tests.matches.agent_server import PATIENCE_S

BOARD, MATCH = PageKey("board", "fall"), PageKey("match", "fall", "R1M1")
OTHER = PageKey("board", "spring")


async def test_a_page_is_looked_at_though_nobody_says_that_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "LOOK_AFTER_S", 0.001)
    monkeypatch.setattr(hubs, "SPACING_S", 0.0)
    monkeypatch.setattr(live, "get_channel_layer", lambda: None)
    seen = itertools.count()
    monkeypatch.setattr(pages, "fragments", lambda key, language: {"header": str(next(seen))})
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread)
        listeners = [await hub.join(key, "en") for key in (BOARD, MATCH)]
        for listener in listeners:
            assert listener is not None
            async with asyncio.timeout(PATIENCE_S):
                while listener.page.seq < 5:
                    listener.news.clear()
                    await listener.news.wait()
        for listener in listeners:
            assert listener is not None
            hub.leave(listener)


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
    monkeypatch.setattr(live, "get_channel_layer", lambda: None)
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
            assert listener is not None
            async with asyncio.timeout(PATIENCE_S):
                while listener.page.seq < 2:
                    listener.news.clear()
                    await listener.news.wait()
        for listener in listeners:
            assert listener is not None
            hub.leave(listener)
    assert drawn[:3] == [crowd[0], BOARD, crowd[1]]


@pytest.mark.parametrize("missed", [True, False])
async def test_when_messages_were_lost_every_page_is_drawn_again(monkeypatch: pytest.MonkeyPatch, missed: bool) -> None:
    said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def listen(hear: Callable[[dict[str, Any]], None]) -> None:
        while True:
            hear(await said.get())

    monkeypatch.setattr(hubs, "SPACING_S", 0.0)
    monkeypatch.setattr(live, "listen", listen)
    count = itertools.count()
    drawn: asyncio.Queue[PageKey] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def draw(key: PageKey, language: str) -> dict[str, str]:
        loop.call_soon_threadsafe(drawn.put_nowait, key)
        return {"header": str(next(count))}

    monkeypatch.setattr(pages, "fragments", draw)
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread, lambda: 0.0)
        listeners = [await hub.join(key, "en") for key in (BOARD, OTHER)]
        assert [await drawn.get() for _ in listeners] == [BOARD, OTHER]
        said.put_nowait({"leagues": {"fall": []}, "missed": missed})
        async with asyncio.timeout(PATIENCE_S):
            found = [await drawn.get() for _ in range(1 + missed)]
        for listener in listeners:
            assert listener is not None
            hub.leave(listener)
    assert found == [BOARD, OTHER][: 1 + missed]


@pytest.mark.parametrize(("silent", "pauses"), [(True, [0.0]), (False, [5.0])])
async def test_while_nothing_can_be_heard_looks_take_all_the_time_there_is(
    monkeypatch: pytest.MonkeyPatch, silent: bool, pauses: list[float]
) -> None:
    now, given_back = 0.0, []

    def draw(key: PageKey, language: str) -> dict[str, str]:
        nonlocal now
        now += 5.0
        return {"header": str(now)}

    monkeypatch.setattr(pages, "fragments", draw)
    monkeypatch.setattr(live, "is_silent", lambda: silent)
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread, lambda: now)
        page = hubs.Page(BOARD, "en")
        page.seq = 1
        monkeypatch.setattr(hub._turns, "give_back", given_back.append)
        await hub._render(page)
    assert given_back == pauses
