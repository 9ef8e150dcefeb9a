"""``python -m league_sdk.judging.door SOCKET …``: a referee's door, the process that reads what strangers send.

The judging process starts it (:mod:`league_sdk.judging.door_keeper`), with bound sockets to listen at and one end of a
line as standard input. It ends when the line does, hence with the judging process, however that ends.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any, cast

from aiohttp import web

from league_sdk import collector, log_files
from league_sdk.judging.door_budgets import Budgets
from league_sdk.judging.door_http import There, application
from league_sdk.judging.door_pipe import Frame, Pipe, raised
from league_sdk.judging.doors import MOST_CONNECTIONS, SHARE_OF_FILES, Doors, more_files
from league_sdk.protocol.errors import InternalError

ANSWER_LIMIT_S = 60.0
"""For judging to answer what was handed over; an answer that is passed on to the league manager takes longest."""

logger = logging.getLogger(__name__)


class Line:
    """Judging, as the door sees it: at the other end of a line (:class:`league_sdk.judging.door_http.Judging`).

    Args:
        pipe: the line.
        budgets: what judging tells of seats and of the league manager goes there.
    """

    def __init__(self, pipe: Pipe, budgets: Budgets) -> None:
        self._pipe = pipe
        self._budgets = budgets
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._there: dict[int, There] = {}
        self._looking: set[asyncio.Task[None]] = set()
        self.referee_id = ""

    async def perform(self, name: str, message: dict[str, Any], there: There) -> dict[str, Any]:
        """Have judging answer a message; returns the fields of the answer.

        Raises:
            LeagueError: judging refuses it, or is silent.
        """
        return await self._ask({"do": name, "message": message}, there)

    async def health(self) -> dict[str, Any]:
        """Judging's health.

        Raises:
            InternalError: it is silent.
        """
        return await self._ask({"do": "health"})

    async def metrics(self, key: str, seen: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to who wants the metrics.

        Raises:
            InternalError: judging is silent.
        """
        return await self._ask({"do": "metrics", "key": key, "seen": seen})

    async def _ask(self, frame: Frame, there: There | None = None) -> dict[str, Any]:
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        if there is not None:
            self._there[number] = there
        self._pipe.send({"id": number, **frame})
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                answered = await answer
        except TimeoutError:
            raise InternalError("The referee is busy; send it again.") from None
        finally:
            del self._waiting[number]
            self._there.pop(number, None)
        if "refused" in answered:
            raise raised(answered["refused"])
        found: dict[str, Any] = answered["result"]
        return found

    async def listen(self) -> None:
        """Take what judging says, until it ends."""
        while (frame := await self._pipe.receive()) is not None:
            if "state" in frame:
                self._learn(frame["state"])
            elif "still" in frame:
                looking = asyncio.create_task(self._look(frame["still"]))
                self._looking.add(looking)
                looking.add_done_callback(self._looking.discard)
            elif (answer := self._waiting.get(frame["id"])) is not None and not answer.done():
                answer.set_result(frame)

    def _learn(self, state: Mapping[str, Any]) -> None:
        self.referee_id = state["referee_id"]
        self._budgets.expect_league(state["league_digest"])
        self._budgets.open_seats(state["opened"])
        self._budgets.shut_seats(state["shut"])

    async def _look(self, number: int) -> None:
        """Tell judging whether the sender of a request still waits."""
        there = self._there.get(number)
        self._pipe.send({"still": number, "there": there is not None and await there()})


async def run(listening: list[socket.socket]) -> None:
    """Let callers in until judging ends."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Sent to the whole group, as by a terminal: judging still hands back its matches, and ends us.
        loop.add_signal_handler(number, logger.debug, "left to the judging process")
    budgets = Budgets()
    line = Line(await Pipe.over(socket.socket(fileno=os.dup(0))), budgets)
    runner = web.AppRunner(application(line, budgets), access_log=None, shutdown_timeout=0)
    await runner.setup()
    most = min(MOST_CONNECTIONS, more_files() // SHARE_OF_FILES)
    doors = Doors(cast("web.Server", runner.server), most=most, budgets=budgets)
    for one in listening:
        await doors.open(one)
    collector.settle()
    await line.listen()
    doors.close()


def main(words: list[str]) -> None:
    """Let callers in at these sockets, named by their descriptors, until standard input ends."""
    formatter, level = log_files.terminal()
    terminal = logging.StreamHandler()
    terminal.setFormatter(formatter())
    logging.basicConfig(level=level, handlers=[terminal])
    listening = [socket.socket(fileno=int(word)) for word in words]
    try:
        asyncio.run(run(listening))
    finally:
        logging.shutdown()
        # Whoever still waits for an answer gets none; the port must be free at once.
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
