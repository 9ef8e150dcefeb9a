"""Live pages: join, snapshot, then the fragments that changed, with a sequence number.

Each process subscribes to the channel layer once. A page is rendered once per language for all its listeners, and a
frame is serialised once for all sockets to which the same frame was sent last. A socket gets what changed since the
last frame that was sent to it: a slow socket skips intermediate states instead of queueing them, and misses no final
state.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import math
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.live.changes import Changes
from matches.live.turns import Turns
from matches.observing import metrics
from matches.push import notify
from storage.databases import outside_requests

logger = logging.getLogger(__name__)

Render = Callable[[PageKey, str, frozenset[str]], dict[str, str] | None]


@dataclass(frozen=True)
class Pace:
    """Intervals of the hub, in seconds.

    Attributes:
        spacing_s: the shortest time between the beginnings of two renderings of one page. A page that the
            rows had marked as changed, but that was not, may be rendered again at once.
        results_spacing_s: the same for a page with a new result.
        gathering_s: how long a new result waits for others before its page is rendered. The matches of a round end
            together, so one rendering shows most of their results.
        rows_interval_s: between two reads of the leagues' rows, in case a message was lost. Pages whose rows changed
            are rendered again, so that no browser shows an outdated match for longer than five seconds.
        refresh_interval_s: every page with listeners is rendered again after this time, even if nothing is known to
            have changed. When that would take more than half of the thread's time, pages with few listeners wait
            longer.
        charts_interval_s: between two renderings of the charts of one page, which are most of its bytes and show
            what the table beside them already says.
    """

    spacing_s: float = 0.3
    results_spacing_s: float = 0.12
    gathering_s: float = 0.05
    rows_interval_s: float = 2.0
    refresh_interval_s: float = 4.0
    charts_interval_s: float = 2.0


class NotRendered(Exception):
    """A page that may exist could not be rendered: the reason is in the log."""


class Listener:
    """One socket on a page.

    Args:
        page: the page that the socket shows.
        packed: whether frames are gzipped; a table of thirty players shrinks to a tenth.
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
        frame = self.page.packed_since(self.seen) if self.packed else self.page.frame_since(self.seen)
        self.seen = self.page.seq
        return frame


class Page:
    """A page that someone looks at: its fragments and the sequence number at which each last changed."""

    def __init__(self, key: PageKey, language: str) -> None:
        self.key = key
        self.language = language
        self.seq = 0
        self.listeners: set[Listener] = set()
        self.dirty = asyncio.Event()
        self.has_result = asyncio.Event()
        self.doubtful = False
        # Whether the last rendering failed, so that nobody knows whether the page exists.
        self.failed = False
        self.rendered_at = -math.inf
        self.charts_at: float | None = None
        self.charts_left_out = False
        self.task: asyncio.Task[None] | None = None
        # Held during the first rendering, for which all sockets that join meanwhile wait.
        self.first = asyncio.Lock()
        self._fragments: dict[str, tuple[str, int]] = {}
        self._frames: dict[int, str] = {}
        self._packed: dict[int, bytes] = {}

    @property
    def urgent(self) -> bool:
        """Whether the page has never been rendered, or may have changed since."""
        return self.seq == 0 or self.dirty.is_set()

    def mark(self, *, doubtful: bool, result: bool = False) -> None:
        """Have the page rendered again.

        Args:
            doubtful: a message may have told of the change before, so that the page may be up to date already.
            result: a match has ended, which people wait for.
        """
        if result:
            self.has_result.set()
        self.doubtful = doubtful and (self.doubtful or not self.dirty.is_set())
        self.dirty.set()

    def update(self, fragments: dict[str, str]) -> None:
        """Take a new rendering, and wake the listeners if any fragment changed."""
        changed = {name: html for name, html in fragments.items() if self._fragments.get(name, ("", 0))[0] != html}
        if not changed:
            return
        self.seq += 1
        self._fragments.update({name: (html, self.seq) for name, html in changed.items()})
        self._frames, self._packed = {}, {}
        for listener in self.listeners:
            listener.news.set()

    def frame_since(self, seen: int) -> str:
        """The fragments that changed after sequence number ``seen``, as JSON; all of them (a snapshot) if it is 0."""
        frame = self._frames.get(seen)
        if frame is None:
            newer = {name: html for name, (html, seq) in self._fragments.items() if seq > seen}
            head = {"type": "frame", "from": seen} if seen else {"type": "snapshot"}
            frame = json.dumps({**head, "seq": self.seq, "fragments": newer}, ensure_ascii=False)
            self._frames[seen] = frame
        return frame

    def packed_since(self, seen: int) -> bytes:
        """The frame since ``seen``, gzipped; cached for all sockets to which that frame was sent last."""
        frame = self._packed.get(seen)
        if frame is None:
            frame = self._packed[seen] = gzip.compress(self.frame_since(seen).encode(), compresslevel=5, mtime=0)
        return frame


class Hub:
    """All live pages of this process.

    Args:
        executor: the thread that renders pages and reads rows.
        clock: returns seconds.
        pace: the intervals.
        render: returns the fragments of a page in a language without those of the given names; None if there is no
            such page. It is called in the thread of the executor.
        listen: calls the given function with every message of the channel layer, until it is cancelled.
        changes: finds leagues whose rows changed.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        pace: Pace = Pace(),
        render: Render = pages.fragments,
        listen: Callable[[Callable[[Any], None]], Coroutine[Any, Any, None]] = notify.listen,
        changes: Changes | None = None,
    ) -> None:
        self.executor = executor
        self._clock = clock
        self._pace = pace
        self.render = render
        self._listen = listen
        self._pages: dict[tuple[PageKey, str], Page] = {}
        self._subscription: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns = Turns(self._clock)
        self._changes = changes or Changes()

    @property
    def sockets(self) -> int:
        """The number of open sockets."""
        return sum(len(page.listeners) for page in self._pages.values())

    async def join(self, key: PageKey, language: str, *, packed: bool = False) -> Listener | None:
        """Listen to a page; None when there is no such page. Subscribes before it renders.

        Raises:
            NotRendered: it cannot be rendered now.
        """
        self._subscribe()
        page = self._pages.get((key, language))
        if page is None:
            page = self._pages[key, language] = Page(key, language)
        listener = Listener(page, packed)
        page.listeners.add(listener)
        if page.task is None:
            page.task = asyncio.create_task(self._keep(page))
        try:
            # When a whole class opens the board at once, all wait for one rendering.
            async with page.first:
                if page.seq == 0:
                    await self._render(page)
        except asyncio.CancelledError:
            # The browser has gone: the caller gets no listener that it could remove.
            self.leave(listener)
            raise
        if page.seq == 0:
            self.leave(listener)
            if page.failed:
                raise NotRendered(f"page {key} could not be rendered")
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
        """Mark pages as changed when the channel layer or the rows say so."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(self._hear))
            tasks.create_task(self._read_rows())

    async def _read_rows(self) -> None:
        while True:
            await asyncio.sleep(self._pace.rows_interval_s)
            try:
                leagues = {key.league_id for key, _ in self._pages if key.league_id is not None}
                changed = await self.run(self._changes.since, leagues)
                index_is_open = any(key.topic is None for key, _ in self._pages)
                if changed or (index_is_open and await self.run(self._changes.is_list_changed)):
                    self._mark(changed, doubtful=True)
            except Exception:
                logger.exception("the rows of leagues could not be read; they are read again after the interval")

    def _hear(self, message: Mapping[str, Any]) -> None:
        # A process of an earlier version does not say which leagues have results.
        self._mark(message["leagues"], results=message.get("results", ()))

    def _mark(self, leagues: dict[str, list[str]], *, doubtful: bool = False, results: Collection[str] = ()) -> None:
        """Have the pages of changed leagues rendered again.

        Args:
            leagues: ids of leagues, each with the ids of its changed matches; without any, all of it may have changed.
            doubtful: see :meth:`Page.mark`.
            results: the leagues in which a match has ended.
        """
        for (key, _), page in self._pages.items():
            topic = key.topic
            if topic is None:
                page.mark(doubtful=doubtful, result=bool(results))
                continue
            matches = leagues.get(topic)
            if matches is not None and (key.kind != "match" or key.item in matches or not matches):
                page.mark(doubtful=doubtful, result=topic in results)
        self._turns.go_on()

    async def _keep(self, page: Page) -> None:
        """Render a page when it has changed, at its pace, and at every refresh interval."""
        while True:
            try:
                async with asyncio.timeout(self._until_refresh_s(page)):
                    await page.dirty.wait()
            except TimeoutError:
                logger.debug("regular refresh of %s", page.key)
            else:
                await self._until_due(page)
            await self._render(page)

    async def _until_due(self, page: Page) -> None:
        """Wait until a page that has changed may be rendered again; a result shortens the wait."""
        try:
            async with asyncio.timeout(page.rendered_at + self._pace.spacing_s - self._clock()):
                await page.has_result.wait()
        except TimeoutError:
            return
        left_s = page.rendered_at + self._pace.results_spacing_s - self._clock()
        await asyncio.sleep(max(self._pace.gathering_s, left_s))

    def _until_refresh_s(self, page: Page) -> float:
        """Seconds until a page is rendered although nothing is known to have changed."""
        if not page.charts_left_out or page.charts_at is None:
            return self._pace.refresh_interval_s
        return max(0.0, page.charts_at + self._pace.charts_interval_s - self._clock())

    def _without(self, page: Page) -> frozenset[str]:
        """The names of the fragments that a rendering leaves out: the charts, if they were rendered a moment ago."""
        if page.seq == 0 or page.charts_at is None or self._clock() - page.charts_at >= self._pace.charts_interval_s:
            return frozenset()
        return pages.charts_of(page.key.kind)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that queries the database, in the thread that renders."""
        return await asyncio.get_running_loop().run_in_executor(self.executor, outside_requests()(function), *arguments)

    async def _render(self, page: Page) -> None:
        """Render a page when it is its turn.

        If a doubtful mark found nothing new, the rendering does not count: a change that comes next must not wait.
        """
        turns = self._turns
        await turns.wait(page)
        # A change from here on marks the page again.
        urgent, doubtful, seq_before, started_at = page.urgent, page.doubtful, page.seq, self._clock()
        page.dirty.clear()
        page.has_result.clear()
        page.doubtful = False
        without = self._without(page)
        # A page that fails is not tried again before the next refresh, whatever charts it lacks.
        page.charts_left_out = False
        try:
            with metrics.RENDER_SECONDS.time():
                fragments = await self.run(self.render, page.key, page.language, without)
            if fragments is not None:
                page.update(fragments)
            page.failed = False
            page.charts_left_out = bool(without)
            page.charts_at = page.charts_at if without else started_at
        except Exception:
            page.failed = True
            logger.exception("page %s could not be rendered", page.key)
        finally:
            turns.give_back(0.0 if urgent else self._clock() - started_at)
        if not doubtful or page.seq != seq_before:
            page.rendered_at = started_at


hub = Hub()
"""The hub of this process; ``leaguesite.asgi`` sets its executor."""
metrics.SOCKETS.set_function(lambda: hub.sockets)
