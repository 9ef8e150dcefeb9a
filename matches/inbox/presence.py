"""Writes down which agents have a line: pages and the desk show how an agent is reached, in every process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor
from typing import TypeVar

from django.db import DatabaseError

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from matches.inbox.hub import LINGER_S, Hub
from matches.inbox.lines import Line
from matches.observing import metrics
from matches.push import notify
from storage.databases import outside_requests

logger = logging.getLogger(__name__)

T = TypeVar("T")

FLUSH_INTERVAL_S = 0.5
"""The time between two writes, so that the lines of a class that connects at once are one statement."""
REFRESH_INTERVAL_S = 15.0
"""How often a line that stays open is written again (a row that is not renewed belongs to a process that was killed),
and the tokens of open lines are looked up, as they may have been revoked."""
RENEWED_WITHIN_S = 1.5 * REFRESH_INTERVAL_S
"""A row that was renewed so lately belongs to a line that is open, perhaps at another process."""


class Presence:
    """Keeps the rows of agents that dial out true, as far as the lines of this process go.

    Args:
        hub: whose lines are written down.
        executor: a thread for database work.
        linger_s: a line that was closed counts as open for this long, as a poll is followed by the next.
    """

    def __init__(self, hub: Hub, executor: Executor, *, linger_s: float = LINGER_S) -> None:
        self._hub = hub
        self._executor = executor
        self._linger_s = linger_s
        self._open: dict[int, str] = {}
        self._opened: dict[int, str] = {}
        self._closing: dict[int, asyncio.TimerHandle] = {}
        self._closed: set[int] = set()
        self._not_renewed: set[int] = set()
        self._contested: set[int] = set()
        """Agents whose line was taken over again and again, as by two programs with one token."""
        self._came_or_went: set[int] = set()
        hub.on_change, hub.on_contest = self._changed, self._contested.add

    async def keep_writing(self) -> None:
        """Write until cancelled."""
        loop = asyncio.get_running_loop()
        refresh_at = loop.time() + REFRESH_INTERVAL_S
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_S)
            if loop.time() >= refresh_at:
                refresh_at = loop.time() + REFRESH_INTERVAL_S
                # A line that was closed a while ago is open at another process by now, or nowhere.
                still_open = {agent: way for agent, way in self._open.items() if agent not in self._closing}
                # Its agent may also be between two polls: the next one says that it is here.
                self._not_renewed = self._open.keys() - still_open
                self._opened = still_open | self._opened
                self._hub.forget_old()
                await self.end_revoked()
            await self.flush()

    async def flush(self) -> None:
        """Write what has changed since the last time."""
        opened, closed, contested = self._opened, self._closed, self._contested.copy()
        if not (opened or closed or contested):
            return
        self._opened, self._closed = {}, set()
        self._contested.clear()
        came_or_went, self._came_or_went = self._came_or_went, set()
        for way in ("poll", "websocket"):
            metrics.INBOX_LINES.labels(way).set(sum(open_way == way for open_way in self._open.values()))
        renewed_s = min(self._linger_s, RENEWED_WITHIN_S)
        if not await self._in_thread(lambda: _write(opened, closed, contested, came_or_went, renewed_s)):
            # The lines themselves work, and the next write has these, too.
            self._opened, self._closed = opened | self._opened, (closed - self._open.keys()) | self._closed
            self._contested.update(contested)
            self._came_or_went |= came_or_went

    async def end_revoked(self) -> None:
        """End the lines whose token was revoked; a poll ends soon by itself, a socket would stay open."""
        tokens, now = {line.token for line in self._hub.lines()}, time.monotonic()
        if tokens and (valid := await self._in_thread(lambda: credentials.valid_digests(tokens))) is not None:
            self._hub.revoke(tokens, valid, now)

    async def _in_thread(self, work: Callable[[], T]) -> T | None:
        """The result of database work; None if the database is away or busy."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, outside_requests()(work))
        except DatabaseError:
            logger.warning(
                "the rows of agents that dial out could not be read or written; this is tried again", exc_info=True
            )
            return None

    def _changed(self, agent: int, line: Line | None) -> None:
        loop = asyncio.get_running_loop()
        if line is None:
            self._closing[agent] = loop.call_later(self._linger_s, self._close, agent)
            return
        if (timer := self._closing.pop(agent, None)) is not None:
            timer.cancel()
        self._closed.discard(agent)
        if agent in self._not_renewed:
            self._not_renewed.discard(agent)
            self._opened[agent] = line.way
        if self._open.get(agent) != line.way:
            self._open[agent] = self._opened[agent] = line.way
            self._came_or_went.add(agent)

    def _close(self, agent: int) -> None:
        self._closing.pop(agent, None)
        if self._open.pop(agent, None) is not None:
            self._opened.pop(agent, None)
            self._closed.add(agent)
            self._came_or_went.add(agent)


def _write(
    opened: Mapping[int, str],
    closed: Collection[int],
    contested: Collection[int],
    came_or_went: Collection[int],
    renewed_s: float,
) -> bool:
    """Write lines down, and tell the browsers that show the leagues of agents that came or went."""
    registration.note_lines(opened=opened, closed=closed, contested=contested, renewed_s=renewed_s)
    leagues = Agent.objects.filter(pk__in=list(came_or_went), league__isnull=False).values_list("league_id", flat=True)
    for league_id in set(leagues):
        notify.push(league_id)
    return True
