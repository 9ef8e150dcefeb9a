"""The line of a referee that dials out: messages of its inbox are answered in this process (ruling, section 13).

Such a referee starts no door process, as no stranger can reach it: only the league manager puts messages into a
referee's inbox, players' callbacks among them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from league_sdk.dialling import DialledLine, NotAllowed, TakenOver
from league_sdk.judging.door.answering import Answering, Judging, answer_here
from league_sdk.judging.door.tools import FOR_JUDGING, NOTIFICATIONS
from league_sdk.judging.worker.league_link import LeagueLink
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Post, dispatch

logger = logging.getLogger(__name__)


async def _league_waits() -> bool:
    """Whether the league manager still waits for an answer: taken for granted, as an inbox does not show it.

    A start_match that comes too late does no harm: by its attempt the league manager sees that it is out of date.
    """
    return True


async def answer(judging: Judging, request: dict[str, Any]) -> dict[str, Any]:
    """Answer a JSON-RPC request that came over the inbox.

    Args:
        judging: answers the messages that need a match.
        request: the request.

    Returns the JSON-RPC response.
    """

    async def perform(inner_request: Any) -> dict[str, Any]:
        if inner_request.name in FOR_JUDGING or inner_request.name in NOTIFICATIONS:
            return await judging.perform(inner_request.name, inner_request.message, _league_waits)
        return answer_here(inner_request.name)

    reply = await dispatch(Answering(judging), Post(rpc.dumps(request), "application/json"), perform)
    response: dict[str, Any] = rpc.loads(reply.body if isinstance(reply.body, bytes) else b"{}")
    return response


class LineKeeper:
    """Keeps a referee's line to its inbox open.

    Args:
        link: the link of the referee; :meth:`dial` is to be called whenever it has registered.
        judging: answers the messages.
        taken_over: called when another program fetches this referee's messages.
    """

    def __init__(self, link: LeagueLink, judging: Judging, taken_over: Callable[[], None]) -> None:
        self._link = link
        self._judging = judging
        self._taken_over = taken_over
        self._keeping: asyncio.Task[None] | None = None

    def dial(self) -> None:
        """Open a line with the newest token; an earlier one ends."""
        if self._keeping is not None:
            self._keeping.cancel()
        self._keeping = asyncio.create_task(self._keep(), name="line to the inbox")

    async def _keep(self) -> None:
        inbox = self._link.inbox
        if inbox is None:
            logger.error("this league has no inboxes: the referee must listen where the league can call it")
            return
        try:
            await DialledLine(inbox, lambda request: answer(self._judging, request)).keep()
        except NotAllowed as ended:
            # The next heartbeat is refused as well, and the referee registers again.
            logger.warning("%s", ended)
        except TakenOver as ended:
            logger.error("%s", ended)
            self._taken_over()

    async def aclose(self) -> None:
        """Close the line."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
