"""Live pages: join, snapshot, then the fragments that changed, with a sequence number.

One layer subscription per process. A page is rendered once per language for all who look at it,
and a frame is put into words once for all who have seen the same. Each socket gets what changed
since the last frame it acknowledged, so a slow one skips steps instead of queueing them, and
nothing it needs is ever lost.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from django.db import close_old_connections

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.live.changes import Changes
from matches.live.turns import Turns
from matches.observing import metrics
from matches.push import notify

logger = logging.getLogger(__name__)

SPACING_S = 0.2
"""At least this long between two renderings of one page; the first comes at once, and so does the next one when it was
for old news."""
ROWS_AFTER_S = 2.0
"""The rows of leagues are looked at this often, in case a message was lost: pages that they say are different are
rendered again, so that no browser is wrong about what is played for longer than five seconds."""
LOOK_AFTER_S = 4.0
"""Every page that has listeners is rendered again this often, whatever was heard or read. With so many pages that it
would take more than half of the thread's time those that few look at come later."""


class Listener:
    """One socket on a page.

    Args:
        packed: frames are to be gzipped: a table of thirty takes a tenth of the air then.
    """

    def __init__(self, page: Page, packed: bool = False) -> None:
        self.page = page
        self.packed = packed
        self.seen = 0
        self.news = asyncio.Event()

    def frame(self) -> str | bytes | None:
        """The next frame for this socket, or None when it is up to date."""
        if self.seen == self.page.seq:
            return None
        found = self.page.packed_since(self.seen) if self.packed else self.page.frame_since(self.seen)
        self.seen = self.page.seq
        return found


class Page:
    """A page that someone looks at: its fragments and the sequence number at which each last changed."""

    def __init__(self, key: PageKey, language: str) -> None:
        self.key = key
        self.language = language
        self.seq = 0
        self.listeners: set[Listener] = set()
        self.dirty = asyncio.Event()
        self.doubtful = False
        self.task: asyncio.Task[None] | None = None
        self.first = asyncio.Lock()
        self._fragments: dict[str, tuple[str, int]] = {}
        self._frames: dict[int, str] = {}
        self._packed: dict[int, bytes] = {}

    @property
    def urgent(self) -> bool:
        """Whether somebody waits for it: it has never been rendered, or is known to have changed."""
        return self.seq == 0 or self.dirty.is_set()

    def mark(self, *, doubtful: bool) -> None:
        """It has changed; ``doubtful``: unless that is old news, and rendered already."""
        self.doubtful = doubtful and (self.doubtful or not self.dirty.is_set())
        self.dirty.set()

    def update(self, fragments: dict[str, str]) -> None:
        """Take a new rendering; listeners hear of it if anything changed."""
        changed = {name: html for name, html in fragments.items() if self._fragments.get(name, ("", 0))[0] != html}
        if not changed:
            return
        self.seq += 1
        self._fragments.update({name: (html, self.seq) for name, html in changed.items()})
        self._frames, self._packed = {}, {}
        for listener in self.listeners:
            listener.news.set()

    def frame_since(self, seen: int) -> str:
        """Everything that changed after ``seen``; from 0 a snapshot."""
        found = self._frames.get(seen)
        if found is None:
            newer = {name: html for name, (html, seq) in self._fragments.items() if seq > seen}
            frame = {"type": "frame", "from": seen} if seen else {"type": "snapshot"}
            found = json.dumps({**frame, "seq": self.seq, "fragments": newer}, ensure_ascii=False)
            self._frames[seen] = found
        return found

    def packed_since(self, seen: int) -> bytes:
        """The same, gzipped; once for all who have seen the same."""
        found = self._packed.get(seen)
        if found is None:
            found = self._packed[seen] = gzip.compress(self.frame_since(seen).encode(), compresslevel=5, mtime=0)
        return found


class Hub:
    """All live pages of this process.

    Args:
        executor: the thread that renders.
        clock: seconds.
    """

    def __init__(self, executor: Executor | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.executor = executor
        self._clock = clock
        self._pages: dict[tuple[PageKey, str], Page] = {}
        self._subscription: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns = Turns(self._clock)
        self._changes = Changes()

    @property
    def sockets(self) -> int:
        """How many sockets are open."""
        return sum(len(page.listeners) for page in self._pages.values())

    async def join(self, key: PageKey, language: str, *, packed: bool = False) -> Listener | None:
        """Listen to a page; None when there is no such page. Subscribes first, then takes the snapshot."""
        self._subscribe()
        page = self._pages.get((key, language))
        if page is None:
            page = self._pages[key, language] = Page(key, language)
        listener = Listener(page, packed)
        page.listeners.add(listener)
        if page.task is None:
            page.task = asyncio.create_task(self._keep(page))
        try:
            # A class that opens the board at once waits for one rendering, not each for its own.
            async with page.first:
                if page.seq == 0:
                    await self._render(page)
        except asyncio.CancelledError:
            # The browser went away meanwhile; nobody else would take it off the page.
            self.leave(listener)
            raise
        if page.seq == 0:
            self.leave(listener)
            return None
        listener.news.set()
        return listener

    def leave(self, listener: Listener) -> None:
        """Stop listening; a page without listeners is forgotten."""
        page = listener.page
        page.listeners.discard(listener)
        if not page.listeners:
            self._pages.pop((page.key, page.language), None)
            if page.task is not None:
                page.task.cancel()
                page.task = None

    def _subscribe(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._turns = Turns(self._clock)
        if self._subscription is None or self._subscription.done() or self._loop is not loop:
            self._loop = loop
            self._subscription = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        """Mark pages as dirty when the channel layer says that they changed, or the rows do."""
        async with asyncio.TaskGroup() as both:
            both.create_task(notify.listen(lambda message: self._mark(message["leagues"])))
            both.create_task(self._look_at_rows())

    async def _look_at_rows(self) -> None:
        while True:
            await asyncio.sleep(ROWS_AFTER_S)
            try:
                leagues = {key.league_id for key, _ in self._pages if key.league_id is not None}
                changed = await self.run(self._changes.since, leagues)
                index_is_open = any(key.topic is None for key, _ in self._pages)
                if changed or (index_is_open and await self.run(self._changes.in_list)):
                    self._mark(changed, doubtful=True)
            except Exception:
                logger.exception("the rows of leagues could not be read")

    def _mark(self, leagues: dict[str, list[str]], *, doubtful: bool = False) -> None:
        """These have changed: leagues with their matches; with none, anything in them."""
        for (key, _), page in self._pages.items():
            topic = key.topic
            if topic is None:
                page.mark(doubtful=doubtful)
                continue
            matches = leagues.get(topic)
            if matches is not None and (key.kind != "match" or key.item in matches or not matches):
                page.mark(doubtful=doubtful)
        self._turns.go_on()

    async def _keep(self, page: Page) -> None:
        """Render a page when it is dirty, at most every ``SPACING_S``, and now and then anyway."""
        while True:
            try:
                async with asyncio.timeout(LOOK_AFTER_S):
                    await page.dirty.wait()
            except TimeoutError:
                logger.debug("regular look at %s", page.key)
            if await self._render(page):
                await asyncio.sleep(SPACING_S)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call something that asks the database, in the thread that renders."""
        return await asyncio.get_running_loop().run_in_executor(self.executor, _closing, function, *arguments)

    async def _render(self, page: Page) -> bool:
        """Render a page when it is its turn; whether it rests now: who looked for old news keeps no change waiting."""
        turns = self._turns
        await turns.wait(page)
        # What changes from here on is for the next time.
        urgent, doubtful, seen, begun = page.urgent, page.doubtful, page.seq, self._clock()
        page.dirty.clear()
        page.doubtful = False
        try:
            with metrics.RENDER_SECONDS.time():
                found = await self.run(pages.fragments, page.key, page.language)
            if found is not None:
                page.update(found)
        except Exception:
            logger.exception("page %s could not be rendered", page.key)
        finally:
            turns.give_back(0.0 if urgent else self._clock() - begun)
        return not doubtful or page.seq != seen


def _closing(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    finally:
        close_old_connections()


hub = Hub()
"""This process's hub; the server gives it its thread at start."""
metrics.SOCKETS.set_function(lambda: hub.sockets)
