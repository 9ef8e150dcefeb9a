"""The canary: whether it was this side that was late when an agent's time ran out.

Two things are watched while matches run: the event loop, which is asked for a moment of its time twenty times a
second, and a whole call of a small server of our own, through the client and the sockets that agents are called
with. The server answers at once; when it is late, so was everything else. It has a thread: what holds the
interpreter holds it, too. Why and how much: docs/decisions/0009-a-canary-beside-every-match.md.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import cast

from league_sdk.judging.clock import Clock
from league_sdk.transport.client import CallFailed, Client
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.05
"""Between two looks at the event loop."""
CALL_EVERY_S = 0.5
"""Between two calls of our own server."""
CALL_LIMIT_S = 5.0
PUNCTUAL_S = 0.05
"""So late is still on time."""
SHARE = 0.1
LEAST_S = 0.1
"""A deadline is ours when more of its limit was lost than this share, and no less than this."""
MOST_DELAYS = 1000
"""Kept, the newest; each stands apart from the next by a punctual look."""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
MOST_OPEN = 16
"""Connections to the canary's server at once."""
CALL_ENDS = b"\r\n\r\n{}"

Call = Callable[[], Awaitable[None]]


def allowed_s(limit_s: float) -> float:
    """How late this side may have been in all, in seconds, for a deadline to be the agent's own.

    Args:
        limit_s: the seconds that the agent had.
    """
    return max(LEAST_S, SHARE * limit_s)


class Echo:
    """A server on this machine that answers the canary's calls, in a thread of its own.

    Raises:
        OSError: it cannot listen.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="canary", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        # Sockets without a loop around them: when this ends, none is on its way to anywhere.
        heard: dict[socket.socket, bytes] = {}
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            ready.register(self._stopped, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    plug = cast("socket.socket", key.fileobj)
                    if plug is self._stopped:
                        for one in (*heard, self._listener, self._stopped):
                            one.close()
                        return
                    try:
                        if plug is self._listener:
                            plug, _ = self._listener.accept()
                            heard[plug] = b""
                            ready.register(plug, selectors.EVENT_READ)
                        elif plug in heard and self._is_done(plug, heard):
                            self._hang_up(plug, ready, heard)
                        if len(heard) > MOST_OPEN:
                            # Somebody else's: the canary has one.
                            self._hang_up(next(iter(heard)), ready, heard)
                    except OSError as error:
                        logger.warning("a call of the canary fails: %s", error)
                        if plug in heard:
                            self._hang_up(plug, ready, heard)
                        else:
                            # No file for another connection: it would be told so again at once.
                            time.sleep(LOOK_EVERY_S)

    @staticmethod
    def _is_done(plug: socket.socket, heard: dict[socket.socket, bytes]) -> bool:
        data = plug.recv(4096)
        heard[plug] = (heard[plug] + data)[-len(CALL_ENDS) :]
        if heard[plug] == CALL_ENDS:
            plug.sendall(ANSWER)
            return True
        return not data

    @staticmethod
    def _hang_up(plug: socket.socket, ready: selectors.BaseSelector, heard: dict[socket.socket, bytes]) -> None:
        ready.unregister(plug)
        del heard[plug]
        plug.close()

    def close(self) -> None:
        """End the thread."""
        self._stop.close()
        self._thread.join()


class Canary:
    """Keeps when this side was late; one for all matches of a referee.

    Args:
        clock: time.
        call: one call of a server of our own; None for the real one.
    """

    def __init__(self, clock: Clock, call: Call | None = None) -> None:
        self._clock = clock
        self._call = call or self._echo
        self._delays: deque[tuple[float, float]] = deque(maxlen=MOST_DELAYS)
        self._look_due: float | None = None
        self._called_at: float | None = None
        self._call_due = self._clock.monotonic()
        self._tasks: list[asyncio.Task[None]] = []
        self._ending: list[asyncio.Task[None]] = []
        self._server: Echo | None = None
        self._client: Client | None = None
        self._heard = False

    @property
    def heard(self) -> bool:
        """Whether a call of its own server has ever been answered."""
        return self._heard

    def sing(self) -> None:
        """Begin to watch, if that is not done already."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._watch_loop(), name="canary's loop"),
                asyncio.create_task(self._watch_calls(), name="canary's calls"),
            ]

    def rest(self) -> None:
        """Nothing is to be watched for now."""
        for task in self._tasks:
            task.cancel()
        self._ending = [task for task in (*self._ending, *self._tasks) if not task.done()]
        self._tasks = []
        self._look_due = self._called_at = None

    async def aclose(self) -> None:
        """Stop for good."""
        self.rest()
        await asyncio.gather(*self._ending, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
        if self._server is not None:
            self._server.close()

    # -- what it says -------------------------------------------------------------------------------------

    def late_s(self, begin: float, end: float) -> float:
        """For how many seconds of a span this side was late.

        Args:
            begin, end: of the clock's monotonic time.
        """
        return sum(
            max(0.0, min(end, last) - max(begin, first)) for first, last in _joined([*self._delays, *self._pending()])
        )

    def blames_us(self, begin: float, limit_s: float) -> float:
        """How late this side was while a limit ran, in seconds, when that is too much; else 0.

        Args:
            begin: when the limit began, of the clock's monotonic time.
            limit_s: the limit.
        """
        late = self.late_s(begin, begin + limit_s)
        return late if late > allowed_s(limit_s) else 0.0

    def _pending(self) -> Iterable[tuple[float, float]]:
        """What is late at this moment and has not come yet."""
        now = self._clock.monotonic()
        return [(at, now) for at in (self._look_due, self._called_at) if at is not None and now - at > PUNCTUAL_S]

    # -- what it does -------------------------------------------------------------------------------------

    async def _watch_loop(self) -> None:
        while True:
            self._look_due = due = self._clock.monotonic() + LOOK_EVERY_S
            await self._clock.sleep(LOOK_EVERY_S)
            self._note(due)

    async def _watch_calls(self) -> None:
        while True:
            # A referee whose matches are short rests and sings many times a second.
            await self._clock.sleep(max(0.0, self._call_due - self._clock.monotonic()))
            begun = self._clock.monotonic()
            self._call_due = begun + CALL_EVERY_S
            # One that has never been heard proves nothing: perhaps there can be none on this machine.
            self._called_at = begun if self._heard else None
            try:
                await self._call()
            except (CallFailed, OSError) as error:
                logger.warning("the canary is not heard: %s", error)
            else:
                self._heard = True
            if self._called_at is not None:
                self._note(begun)
                self._called_at = None
            self._call_due = self._clock.monotonic() + CALL_EVERY_S

    def _note(self, due: float) -> None:
        now = self._clock.monotonic()
        if now - due > PUNCTUAL_S:
            self._delays.append((due, now))

    async def _echo(self) -> None:
        self._server = self._server or Echo()
        self._client = self._client or Client(agent_type="referee", policy=EndpointPolicy())
        await self._client.post(self._server.url, {}, limit_s=CALL_LIMIT_S)


def _joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The spans without counting twice what several of them cover."""
    found: list[tuple[float, float]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
