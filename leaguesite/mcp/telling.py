"""Tells subscribers of resources what has changed, and nothing of what a freeze hides: not even that it has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from django.db import DatabaseError

from league_sdk.mcp.listening import Listeners
from league_sdk.mcp.server import McpServer
from leaguesite.mcp.resources import changed
from matches.models import League
from matches.push import notify
from storage.databases import outside_requests

logger = logging.getLogger(__name__)

TELL_INTERVAL_S = 1.0
"""How often clients are told what has changed: a league in play may change fifty times a second."""


class Freeze(NamedTuple):
    """A freeze of a board: as soon as a field differs, the public sees another table.

    Attributes:
        seq: the event that froze the board.
        unveiled: how many places were unveiled since.
    """

    seq: int
    unveiled: int


def freezes_of(league_ids: Collection[str]) -> dict[str, Freeze]:
    """READ: the freezes of these leagues by league id, without leagues that are not frozen."""
    rows = League.objects.filter(pk__in=league_ids, frozen_seq__isnull=False)
    values = rows.values_list("pk", "frozen_seq", "unveiled")
    return {pk: Freeze(seq, unveiled) for pk, seq, unveiled in values if seq is not None}


class Telling:
    """Tells listeners of what has changed, once in a while.

    Args:
        listeners: the listeners of this process.
        read_freezes: reads the freezes of leagues, in a thread.
        interval_s: how often they are told.
    """

    def __init__(
        self,
        listeners: Listeners,
        read_freezes: Callable[[Collection[str]], Mapping[str, Freeze]] = freezes_of,
        *,
        interval_s: float = TELL_INTERVAL_S,
    ) -> None:
        self.listeners = listeners
        self._read_freezes = read_freezes
        self._interval_s = interval_s
        self._changed: dict[str, set[str]] = {}
        """The leagues that have changed since listeners were told, and those of their matches that have."""
        self._hidden: dict[str, set[str]] = {}
        """The matches of frozen leagues that have changed since the freeze: they are told after it."""
        self._freezes: dict[str, Freeze | None] = {}
        """The freeze of each league, None without, when its listeners were told last."""
        self._news = asyncio.Event()

    def hear(self, message: dict[str, Any]) -> None:
        """Take a message of what has changed; on the event loop."""
        if not len(self.listeners):
            # What changes now is told to nobody: whoever subscribes later has not seen what was told before.
            for known in (self._changed, self._hidden, self._freezes):
                known.clear()
            return
        for league_id, match_ids in message.get("leagues", {}).items():
            self._changed.setdefault(league_id, set()).update(match_ids)
            self._news.set()

    async def run(self) -> None:
        """Tell what was heard, until cancelled."""
        while True:
            await self._news.wait()
            await asyncio.sleep(self._interval_s)
            await self.tell()

    async def tell(self) -> None:
        """Tell what was heard; if the database is away, later."""
        self._news.clear()
        leagues, self._changed = self._changed, {}
        try:
            freezes = await asyncio.to_thread(outside_requests()(self._read_freezes), list(leagues))
        except DatabaseError:
            logger.warning("whether boards are frozen cannot be read; subscribers are told later", exc_info=True)
            for league_id, match_ids in leagues.items():
                self._changed.setdefault(league_id, set()).update(match_ids)
            self._news.set()
            return
        uris = set[str]()
        for league_id, match_ids in leagues.items():
            uris |= self._shown(league_id, match_ids, freezes.get(league_id))
        await self.listeners.updated_in_turn(uris)

    def _shown(self, league_id: str, match_ids: set[str], freeze: Freeze | None) -> set[str]:
        """The addresses that look different to everybody after a change of a league."""
        if freeze is None:
            self._freezes[league_id] = None
            return changed(league_id, match_ids | self._hidden.pop(league_id, set()))
        self._hidden.setdefault(league_id, set()).update(match_ids)
        # A process that has just started does not know the last freeze that was told: it says too little.
        told, self._freezes[league_id] = self._freezes.get(league_id, freeze), freeze
        return set() if told == freeze else changed(league_id, ())


MAX_SENDING = 50
"""How many messages about sessions may be on their way to other processes; more are lost, as any may be."""
SESSIONS = "mcp"
"""The group in which web processes tell each other what concerns a session of a client of MCP."""


async def keep_telling(server: McpServer) -> None:
    """Tell clients of what changes, and other web processes of their sessions, as long as the process runs."""
    telling, loop = Telling(server.listeners), asyncio.get_running_loop()
    async with asyncio.TaskGroup() as tasks:
        sending: set[asyncio.Task[None]] = set()

        def send(told: dict[str, Any]) -> None:
            if len(sending) < MAX_SENDING:
                sending.add(task := tasks.create_task(notify.send(SESSIONS, told)))
                task.add_done_callback(sending.discard)

        def tell_others(message: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(send, {"type": "mcp.session"} | message)

        if notify.reaches_others():
            server.sessions.tell_others = tell_others
            tasks.create_task(notify.listen(server.sessions.hear, SESSIONS))
        tasks.create_task(notify.listen(telling.hear))
        tasks.create_task(telling.run())
