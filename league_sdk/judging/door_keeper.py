"""The judging process' side of its door: binds the port, starts the door, answers what it hands over (decision 13)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

from league_sdk.judging.door_pipe import Frame, Pipe, refusal
from league_sdk.judging.doors import MOST_CONNECTIONS
from league_sdk.judging.server import RefereeServer
from league_sdk.protocol.errors import LeagueError

logger = logging.getLogger(__name__)

BIND_PATIENCE_S = 2.0
"""A referee before us that was killed leaves the port to its door, for the moment that this takes to see it."""
BIND_AGAIN_S = 0.1
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0
"""Before a door that has ended is started again."""
LIVED_S = 10.0
"""A door that was there for so long did not end because of how it began."""
END_PATIENCE_S = 2.0
MOST_UNREAD_BYTES = 16 << 20
"""That a door leaves unread before it is started again."""
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|CODE|DATABASE|REDIS", re.IGNORECASE)
"""In the name of a variable of the environment: the door reads what strangers send, and gets none of these."""


async def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen at every address of a host; nobody is let in yet.

    Raises:
        OSError: the address cannot be used.
    """
    loop = asyncio.get_running_loop()
    until = time.monotonic() + BIND_PATIENCE_S
    while True:
        try:
            server = await loop.create_server(asyncio.Protocol, host, port, reuse_address=True, start_serving=False)
        except OSError:
            if time.monotonic() >= until:
                raise
            await asyncio.sleep(BIND_AGAIN_S)
            continue
        bound = [one.dup() for one in server.sockets]
        server.close()
        for one in bound:
            # Who calls before the door is there, or while it is started again, waits in line.
            one.listen(MOST_CONNECTIONS)
        return bound


def environment() -> dict[str, str]:
    """What the door gets of our environment."""
    return {name: value for name, value in os.environ.items() if not _SECRET.search(name)}


class DoorKeeper:
    """Keeps a door in front of a referee.

    Args:
        listening: of :func:`bind`; they stay ours, so that callers wait in line while a door is started again.
        server: answers what the door hands over.
    """

    def __init__(self, listening: list[socket.socket], server: RefereeServer) -> None:
        self._listening = listening
        self._server = server
        self._process: asyncio.subprocess.Process | None = None
        self._pipe: Pipe | None = None
        self._told: set[str] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._still: dict[int, asyncio.Future[bool]] = {}
        self._keeping: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def pid(self) -> int | None:
        """Of the door's process."""
        return self._process.pid if self._process is not None else None

    async def open(self) -> None:
        """Start the door, and go on starting it when it ends.

        Raises:
            OSError: no process can be started.
        """
        pipe = await self._start()
        self._keeping = asyncio.create_task(self._keep(pipe), name="keeper of the door")

    async def _start(self) -> Pipe:
        ours, theirs = socket.socketpair()
        handles = [one.fileno() for one in self._listening]
        words = ("-m", "league_sdk.judging.door", *map(str, handles))
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, *words, stdin=theirs.fileno(), pass_fds=handles, env=environment()
                )
        except OSError:
            ours.close()
            raise
        pipe = self._pipe = await Pipe.over(ours)
        self._told = set()
        self.tell()
        return pipe

    async def _keep(self, pipe: Pipe) -> None:
        wait = FIRST_WAIT_S
        while True:
            begun = time.monotonic()
            await self._serve(pipe)
            await self._ended()
            if self._closing:
                return
            if time.monotonic() - begun > LIVED_S:
                wait = FIRST_WAIT_S
            logger.error("the door has ended (%s): starting it again", self._process and self._process.returncode)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_S)
            while True:
                try:
                    pipe = await self._start()
                    break
                except OSError as error:
                    logger.error("the door cannot be started: %s", error)
                    await asyncio.sleep(LONGEST_WAIT_S)

    async def _serve(self, pipe: Pipe) -> None:
        """Answer what comes over a line until it ends."""
        try:
            while (frame := await pipe.receive()) is not None:
                if "still" in frame:
                    asked = self._still.get(frame["still"])
                    if asked is not None and not asked.done():
                        asked.set_result(frame["there"] is True)
                    continue
                task = asyncio.create_task(self._answer(pipe, frame), name="a request")
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
        except (LeagueError, ValueError, KeyError):
            logger.exception("the door says what it should not")
        pipe.close()

    async def _answer(self, pipe: Pipe, frame: Frame) -> None:
        number = frame["id"]
        try:
            answer = {"id": number, "result": await self._perform(pipe, frame)}
        except LeagueError as error:
            answer = {"id": number, "refused": refusal(error)}
        self._say(pipe, answer)

    async def _perform(self, pipe: Pipe, frame: Frame) -> Mapping[str, Any]:
        if frame["do"] == "health":
            return await self._server.health()
        if frame["do"] == "metrics":
            return await self._server.metrics(frame["key"], frame["seen"])
        return await self._server.perform(frame["do"], frame["message"], lambda: self._is_there(pipe, frame["id"]))

    async def _is_there(self, pipe: Pipe, number: int) -> bool:
        """Ask the door whether a sender still waits; it knows, however long we stood still."""
        asked: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._still[number] = asked
        self._say(pipe, {"still": number})
        try:
            return await asked
        finally:
            del self._still[number]

    def tell(self) -> None:
        """Tell the door which seats are in play, and who we are."""
        if self._pipe is None:
            return
        seats = self._server.open_seats
        state = {
            "referee_id": self._server.referee_id,
            "league_digest": self._server.league_digest,
            "opened": sorted(seats - self._told),
            "shut": sorted(self._told - seats),
        }
        self._told = seats
        self._say(self._pipe, {"state": state})

    def _say(self, pipe: Pipe, frame: Frame) -> None:
        if pipe.waiting_bytes > MOST_UNREAD_BYTES:
            # It reads nothing any more; the next one is told everything anew.
            self._kill()
            return
        pipe.send(frame)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _ended(self) -> None:
        """See to it that the door's process is gone, and that nobody waits for its word."""
        self._pipe = None
        for asked in self._still.values():
            if not asked.done():
                asked.set_result(False)
        if self._process is not None:
            try:
                async with asyncio.timeout(END_PATIENCE_S):
                    await self._process.wait()
            except TimeoutError:
                self._kill()
                await self._process.wait()

    async def aclose(self) -> None:
        """End the door, and free the port."""
        self._closing = True
        if self._pipe is not None:
            self._pipe.close()
        if self._keeping is not None:
            # One that waits to start another door has none to end.
            with contextlib.suppress(asyncio.CancelledError):
                if self._pipe is None:
                    self._keeping.cancel()
                await self._keeping
        await self._ended()
        for task in list(self._answering):
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        for one in self._listening:
            one.close()
