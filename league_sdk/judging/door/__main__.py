"""``python -m league_sdk.judging.door SOCKET …``: a referee's door, the process that reads what strangers send.

The judging process starts it (:mod:`league_sdk.judging.door.keeper`) with bound sockets to listen at, and with one end
of a pipe as standard input. The door ends when the pipe does, hence with the judging process, however that ends.
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

from league_sdk import collector, log_files, watchdog
from league_sdk.judging.door.answering import SenderWaits
from league_sdk.judging.door.budgets import Budgets
from league_sdk.judging.door.connections import FILE_LIMIT_DIVISOR, MAX_CONNECTIONS, Listener
from league_sdk.judging.door.http import application
from league_sdk.judging.door.pipe import Frame, Pipe, error_from_frame
from league_sdk.open_files import raise_file_limit
from league_sdk.protocol.errors import InternalError

ANSWER_TIMEOUT_S = 60.0
"""How long judging may take to answer a message; it takes longest to forward a callback to the league manager."""

logger = logging.getLogger(__name__)


class JudgingClient:
    """The judging process as the door sees it, at the other end of a pipe (a ``Judging`` of ``answering.py``).

    Args:
        pipe: leads to the judging process.
        budgets: told which seats are in play and who the league manager is.
    """

    def __init__(self, pipe: Pipe, budgets: Budgets) -> None:
        self._pipe = pipe
        self._budgets = budgets
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Frame]] = {}
        self._senders: dict[int, SenderWaits] = {}
        self._checks: set[asyncio.Task[None]] = set()
        self.referee_id = ""

    async def perform(self, name: str, message: dict[str, Any], sender_waits: SenderWaits) -> dict[str, Any]:
        """Have judging answer a message; returns the fields of the answer.

        Raises:
            LeagueError: judging refuses the message, or does not answer.
        """
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._senders[number] = sender_waits
        self._pipe.send({"id": number, "do": name, "message": message})
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                frame = await answer
        except TimeoutError:
            raise InternalError("The referee is busy; send it again.") from None
        finally:
            del self._answers[number], self._senders[number]
        if "refused" in frame:
            raise error_from_frame(frame["refused"])
        result: dict[str, Any] = frame["result"]
        return result

    async def listen(self) -> None:
        """Take the frames of the judging process until it ends."""
        while (frame := await self._pipe.receive()) is not None:
            if "state" in frame:
                self._update(frame["state"])
            elif "is_waiting" in frame:
                check = asyncio.create_task(self._check_sender(frame["is_waiting"]))
                self._checks.add(check)
                check.add_done_callback(self._checks.discard)
            elif (answer := self._answers.get(frame["id"])) is not None and not answer.done():
                answer.set_result(frame)

    def _update(self, state: Mapping[str, Any]) -> None:
        self.referee_id = state["referee_id"]
        self._budgets.expect_league(state["league_digest"])
        self._budgets.open_seats(state["opened"])
        self._budgets.know_players(state["players"])
        self._budgets.close_seats(state["closed"])

    async def _check_sender(self, number: int) -> None:
        """Tell judging whether the sender of a request still waits."""
        sender_waits = self._senders.get(number)
        waits = sender_waits is not None and await sender_waits()
        self._pipe.send({"is_waiting": number, "answer": waits})


async def run(sockets: list[socket.socket]) -> None:
    """Serve callers until the judging process ends."""
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        # A terminal sends these to the whole group. Judging hands back its matches first, and then ends the door.
        loop.add_signal_handler(signal_number, logger.debug, "left to the judging process")
    budgets = Budgets()
    judging = JudgingClient(await Pipe.over(socket.socket(fileno=os.dup(0))), budgets)
    runner = web.AppRunner(application(judging, budgets), access_log=None, auto_decompress=False)
    await runner.setup()
    max_connections = min(MAX_CONNECTIONS, raise_file_limit() // FILE_LIMIT_DIVISOR)
    listener = Listener(cast("web.Server", runner.server), max_connections=max_connections, budgets=budgets)
    for listening in sockets:
        await listener.open(listening)
    collector.exempt_loaded_objects()
    watching = watchdog.watch(loop)
    await judging.listen()
    watching.cancel()
    listener.close()


def main(descriptors: list[str]) -> None:
    """Serve callers at the sockets with these descriptors until standard input ends."""
    formatter, level = log_files.terminal()
    terminal = logging.StreamHandler()
    terminal.setFormatter(formatter())
    logging.basicConfig(level=level, handlers=[terminal])
    sockets = [socket.socket(fileno=int(descriptor)) for descriptor in descriptors]
    try:
        asyncio.run(run(sockets))
    finally:
        logging.shutdown()
        # Do not wait for open requests: the port must be free at once.
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
