"""The judging process' side of its door: binds the port, starts the door, answers its requests (decision 13)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import sys
import time
from functools import partial

from league_sdk.judging.door.connections import MAX_CONNECTIONS
from league_sdk.judging.door.pipe import Frame, Pipe, error_to_frame
from league_sdk.judging.door.server import RefereeServer
from league_sdk.protocol.errors import LeagueError
from league_sdk.serving import listened_at

logger = logging.getLogger(__name__)

BIND_TIMEOUT_S = 2.0
"""How long to try: if an earlier referee was killed, its door holds the port until it notices that."""
BIND_RETRY_INTERVAL_S = 0.1
MIN_BACKOFF_S, MAX_BACKOFF_S = 0.1, 5.0
"""The shortest and the longest wait before a door that has ended is started again."""
STABLE_AFTER_S = 10.0
"""A door that ran for longer did not fail at its start, so the backoff starts from the beginning."""
EXIT_TIMEOUT_S = 2.0
MAX_WAITING_BYTES = 16 << 20
"""If more waits for a door that reads too slowly, it is killed and started again."""
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|CODE|DATABASE|REDIS", re.IGNORECASE)
"""Environment variables with such names are withheld from the door, because it reads what strangers send."""


async def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen at every address of a host; no connection is accepted yet.

    Raises:
        OSError: the address cannot be used.
    """
    loop = asyncio.get_running_loop()
    until = time.monotonic() + BIND_TIMEOUT_S
    while True:
        try:
            where = listened_at(host, port)
            server = await loop.create_server(asyncio.Protocol, **where, reuse_address=True, start_serving=False)
        except OSError:
            if time.monotonic() >= until:
                raise
            await asyncio.sleep(BIND_RETRY_INTERVAL_S)
            continue
        bound = [listening.dup() for listening in server.sockets]
        server.close()
        for listening in bound:
            # Callers wait in the backlog until the door runs, and while it is started again.
            listening.listen(MAX_CONNECTIONS)
        return bound


def environment() -> dict[str, str]:
    """The environment variables that the door gets."""
    return {name: value for name, value in os.environ.items() if not _SECRET.search(name)}


class DoorKeeper:
    """Keeps a door running in front of a referee.

    Args:
        sockets: from :func:`bind`; they stay open here, so that callers wait in the backlog while a door is restarted.
        server: answers the door's requests.
    """

    def __init__(self, sockets: list[socket.socket], server: RefereeServer) -> None:
        self._sockets = sockets
        self._server = server
        self._process: asyncio.subprocess.Process | None = None
        self._pipe: Pipe | None = None
        self._sent_seats: set[str] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._checks: dict[int, asyncio.Future[bool]] = {}
        self._keeping: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def pid(self) -> int | None:
        """The process id of the door."""
        return self._process.pid if self._process is not None else None

    async def open(self) -> None:
        """Start the door, and start it again whenever it ends.

        Raises:
            OSError: no process can be started.
        """
        pipe = await self._start()
        self._keeping = asyncio.create_task(self._keep(pipe), name="keeper of the door")

    async def _start(self) -> Pipe:
        ours, theirs = socket.socketpair()
        descriptors = [listening.fileno() for listening in self._sockets]
        arguments = ("-m", "league_sdk.judging.door", *map(str, descriptors))
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, *arguments, stdin=theirs.fileno(), pass_fds=descriptors, env=environment()
                )
        except OSError:
            ours.close()
            raise
        pipe = self._pipe = await Pipe.over(ours)
        self._sent_seats = set()
        self.send_state()
        return pipe

    async def _keep(self, pipe: Pipe) -> None:
        backoff_s = MIN_BACKOFF_S
        while True:
            begun = time.monotonic()
            await self._serve(pipe)
            await self._wait_for_exit()
            if self._closing:
                return
            if time.monotonic() - begun > STABLE_AFTER_S:
                backoff_s = MIN_BACKOFF_S
            logger.error("the door has ended (%s): starting it again", self._process and self._process.returncode)
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)
            pipe = await self._start_with_retries()

    async def _start_with_retries(self) -> Pipe:
        while True:
            try:
                return await self._start()
            except OSError as error:
                logger.error("the door cannot be started: %s", error)
                await asyncio.sleep(MAX_BACKOFF_S)

    async def _serve(self, pipe: Pipe) -> None:
        """Answer the door's requests until the pipe ends."""
        try:
            while (frame := await pipe.receive()) is not None:
                if "is_waiting" in frame:
                    check = self._checks.get(frame["is_waiting"])
                    if check is not None and not check.done():
                        check.set_result(frame["answer"] is True)
                    continue
                task = asyncio.create_task(self._answer(pipe, frame), name="a request")
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
        except (LeagueError, ValueError, KeyError):
            logger.exception("the door sent something invalid")
        pipe.close()

    async def _answer(self, pipe: Pipe, frame: Frame) -> None:
        number = frame["id"]
        sender_waits = partial(self._sender_waits, pipe, number)
        try:
            result = await self._server.perform(frame["do"], frame["message"], sender_waits)
        except LeagueError as error:
            self._send(pipe, {"id": number, "refused": error_to_frame(error)})
        else:
            self._send(pipe, {"id": number, "result": result})

    async def _sender_waits(self, pipe: Pipe, number: int) -> bool:
        """Ask the door whether a sender still waits, because this process may have been stopped for a while."""
        check: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._checks[number] = check
        self._send(pipe, {"is_waiting": number})
        try:
            return await check
        finally:
            del self._checks[number]

    def send_state(self) -> None:
        """Tell the door which seats are in play, and who we are."""
        if self._pipe is None:
            return
        seats = self._server.open_seats
        opened = seats - self._sent_seats
        state = {
            "referee_id": self._server.referee_id,
            "league_digest": self._server.league_digest,
            "opened": sorted(opened),
            "players": self._server.players_at(opened),
            "closed": sorted(self._sent_seats - seats),
        }
        self._sent_seats = seats
        self._send(self._pipe, {"state": state})

    def _send(self, pipe: Pipe, frame: Frame) -> None:
        if pipe.waiting_bytes > MAX_WAITING_BYTES:
            # The door does not read any more; the next one gets the whole state.
            self._kill()
            return
        pipe.send(frame)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _wait_for_exit(self) -> None:
        """Make sure that the door's process has ended, and that no question to it is waited for any longer."""
        self._pipe = None
        for check in self._checks.values():
            if not check.done():
                check.set_result(False)
        if self._process is not None:
            try:
                async with asyncio.timeout(EXIT_TIMEOUT_S):
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
            with contextlib.suppress(asyncio.CancelledError):
                if self._pipe is None:
                    # No door runs: the keeper is waiting to start one.
                    self._keeping.cancel()
                await self._keeping
        await self._wait_for_exit()
        for task in list(self._answering):
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        for listening in self._sockets:
            listening.close()
