"""Connects the inbox hubs of a site's processes over the channel layer.

An agent's line may be at one process, and the caller that sends it a message at another. Every message goes to all
processes, as none knows where an agent's line is. Any message may be lost: a process whose caller waits says every
two seconds what it waits for, and hears again what became of it (decision 27).

Each process also says twice a second that it runs. While one that has lines is silent, or the channel layer brings
nothing, an agent that seems to be away may wait at that process: such a call is not held against the agent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.notes import Note
from matches.inbox.beats import BEAT_INTERVAL_S, CUT_OFF_BEATS, Beats
from matches.inbox.hub import Hub
from matches.inbox.lines import Line, Offer
from matches.push import notify
from matches.push.notify import PROCESS_ID, end_if_cancelled
from storage.databases import is_away

logger = logging.getLogger(__name__)

GROUP = "inbox"
LOOK_AGAIN_S = 2.0
"""How often a process says what its callers still wait for: a message to or from another process may have been lost."""
ANNOUNCE_INTERVAL_S = 5.0
"""How often a process tells the others which of its lines are open, so that they know which agents dial out."""
CLOSING_TIMEOUT_S = 0.5
"""How long a process that ends may take to send what it still has for the others."""
MAX_QUEUED = 10_000
_EARLIER = "poll"
"""The way of a line at a process of the previous version, which names no way and runs until it is replaced."""


class Others:
    """The hubs of the other processes, as a hub sees them (:class:`matches.inbox.lines.OtherHubs`).

    Args:
        hub: the hub of this process.
        has_lines: whether agents can open lines at this process.
    """

    def __init__(self, hub: Hub, *, has_lines: bool) -> None:
        self._hub = hub
        self._beats = Beats(PROCESS_ID, has_lines=has_lines)
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_QUEUED)

    # What this hub says ----------------------------------------------------------------------

    def offered(self, offer: Offer, *, again: bool = False) -> None:
        # Seconds left, and not a time: the clocks of processes, and of machines, differ.
        body = rpc.dumps(offer.request).decode()
        http = rpc.dumps(offer.http).decode()
        words = {"request": body, "left_s": offer.left_s, "http": http, "again": again}
        self._say("offered", id=offer.id, agent=offer.agent, **words)

    def withdrawn(self, offer_id: int, agent: int) -> None:
        self._say("withdrawn", id=offer_id, agent=agent)

    def taken(self, offer_id: int, *, named: bool) -> None:
        self._say("taken", id=offer_id, named=named)

    def answered(self, offer_id: int, agent: int, response: dict[str, Any]) -> None:
        self._say("answered", id=offer_id, agent=agent, response=rpc.dumps(response).decode())

    def opened(self, line: Line) -> None:
        self._say("opened", agent=line.agent, way=line.way, at=line.opened_at)

    def stalled(self, since: float) -> Note | str:
        return self._beats.stalled(since)

    def _say(self, what: str, **fields: Any) -> None:
        try:
            self._outgoing.put_nowait(_message(what, **fields))
        except asyncio.QueueFull:
            logger.warning("a message to the other processes is lost: the channel layer takes none")

    # What the others say ---------------------------------------------------------------------

    def hear(self, message: dict[str, Any]) -> None:
        """Carry out what another process said; its own messages come back to a process, too."""
        if message["what"] == "beat":
            self._beats.hear(message["from"], message)
            return
        if message.get("from") == PROCESS_ID:
            return
        hub, what = self._hub, message["what"]
        if what == "offered":
            request, http = (rpc.loads(message[part].encode()) for part in ("request", "http"))
            ends_at = time.monotonic() + message["left_s"]
            offer = Offer(message["id"], message["agent"], request, ends_at, http)
            hub.hear_offer(offer, again=message.get("again", False))
        elif what == "withdrawn":
            hub.hear_withdrawn(message["id"], message["agent"])
        elif what == "taken":
            hub.hear_taken(message["id"], named=message.get("named", False))
        elif what == "answered":
            hub.hear_answer(message["id"], message["agent"], rpc.loads(message["response"].encode()))
        elif what == "opened":
            for offer in hub.hear_opened(message["agent"], message.get("way", _EARLIER), message.get("at")):
                self.offered(offer)
        elif what == "open":
            ways = message.get("ways") or repeat(_EARLIER)
            hub.hear_open(dict(zip(message["agents"], ways, strict=False)))
        elif what == "end":
            self._beats.hear_end(message["from"])

    # Tasks -----------------------------------------------------------------------------------

    async def keep_talking(self) -> None:
        """Send, receive and announce until cancelled; then send what is left, and that this process ends."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in (
                    self._keep_sending,
                    partial(notify.listen, self.hear, GROUP),
                    self._keep_announcing,
                    self._keep_looking_again,
                    self._keep_beating,
                ):
                    tasks.create_task(work())
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_TIMEOUT_S):
                    while not self._outgoing.empty():
                        await notify.send(GROUP, self._outgoing.get_nowait())
                    await notify.send(GROUP, _message("end"))
            raise

    async def _keep_announcing(self) -> None:
        while True:
            await asyncio.sleep(ANNOUNCE_INTERVAL_S)
            if lines := self._hub.lines():
                self._say("open", agents=[line.agent for line in lines], ways=[line.way for line in lines])

    async def _keep_looking_again(self) -> None:
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            # While the layer takes nothing, no more is put behind what waits: it would be said all at once.
            if self._outgoing.empty():
                for offer in self._hub.unanswered(LOOK_AGAIN_S):
                    self.offered(offer, again=True)

    async def _keep_beating(self) -> None:
        while True:
            # Not behind the messages that wait: their number says nothing of whether this process runs.
            await notify.send(GROUP, _message("beat", **self._beats.beat()))
            end_if_cancelled()
            # With the database there, Redis may be away for everybody: no other process is better for an agent then.
            if self._beats.unheard >= CUT_OFF_BEATS and is_away():
                self._hub.let_go()
            await asyncio.sleep(BEAT_INTERVAL_S)

    async def _keep_sending(self) -> None:
        while True:
            await notify.send(GROUP, await self._outgoing.get())
            end_if_cancelled()


def _message(what: str, **fields: Any) -> dict[str, Any]:
    return {"type": "inbox.said", "from": PROCESS_ID, "what": what, **fields}
