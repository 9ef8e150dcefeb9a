"""The canary: tells whether this machine was late when an agent's time ran out.

While matches run it watches two things: the event loop, which has to wake it twenty times a second, and a whole call of
a small server of our own, through the client and the sockets that agents are called with. That server answers at once,
so a late answer means that every call was late. It runs in a thread of this process: whatever holds the interpreter
holds the server as well. Reasons and numbers: docs/decisions/0009-a-canary-beside-every-match.md.
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

from league_sdk.asking.clock import Clock
from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.transport.client import CallFailed, Client
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)

LOOP_CHECK_INTERVAL_S = 0.05
CALL_INTERVAL_S = 0.5
CALL_TIMEOUT_S = 5.0
TOLERATED_DELAY_S = 0.05
"""A shorter delay counts as none."""
LATE_SHARE = 0.1
MIN_LATENESS_S = 0.1
"""A missed deadline is our fault if we were late for more than this share of the time the agent had, and for more than
these seconds."""
MAX_DELAYS = 1000
"""How many delays are kept, the newest."""
MAX_ECHO_CONNECTIONS = 16
CALL_END = b"\r\n\r\n{}"
"""The last bytes of a call of the canary: the end of its head, and its body."""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


def allowed_s(limit_s: float) -> float:
    """How many seconds this side may have been late while a deadline is still the agent's fault.

    Args:
        limit_s: the seconds that the agent had.
    """
    return max(MIN_LATENESS_S, LATE_SHARE * limit_s)


class Echo:
    """A server on this machine that answers the canary's calls, in a thread of its own.

    Raises:
        OSError: it cannot listen.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._stop, self._stopped = socket.socketpair()
        self._received: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._serve, name="canary", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        # Plain sockets without an event loop: when this ends, no connection is left half open.
        with self._selector:
            self._selector.register(self._listener, selectors.EVENT_READ)
            self._selector.register(self._stopped, selectors.EVENT_READ)
            while True:
                for key, _ in self._selector.select():
                    ready = cast("socket.socket", key.fileobj)
                    if ready is self._stopped:
                        for open_socket in (*self._received, self._listener, self._stopped):
                            open_socket.close()
                        return
                    self._handle(ready)

    def _handle(self, ready: socket.socket) -> None:
        try:
            if ready is self._listener:
                ready, _ = self._listener.accept()
                self._received[ready] = b""
                self._selector.register(ready, selectors.EVENT_READ)
            elif ready in self._received and self._is_done(ready):
                self._close(ready)
            if len(self._received) > MAX_ECHO_CONNECTIONS:
                # The canary has one connection at a time, so the oldest of many is not the canary's.
                self._close(next(iter(self._received)))
        except OSError as error:
            logger.warning("a call of the canary fails: %s", error)
            if ready in self._received:
                self._close(ready)
            else:
                # No file descriptor is free for a connection, and accept would fail again at once.
                time.sleep(LOOP_CHECK_INTERVAL_S)

    def _is_done(self, connection: socket.socket) -> bool:
        """Read from a connection, and answer a complete call; whether the call was answered or its sender has gone."""
        data = connection.recv(4096)
        self._received[connection] = (self._received[connection] + data)[-len(CALL_END) :]
        if self._received[connection] == CALL_END:
            connection.sendall(ANSWER)
            return True
        return not data

    def _close(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._received[connection]
        connection.close()

    def close(self) -> None:
        """End the thread."""
        self._stop.close()
        self._thread.join()


class Canary:
    """Remembers when this side was late; one for all matches of a referee.

    Args:
        clock: time.
        call: makes one call of the canary's own server, in tests another function; None: calls :class:`Echo`.
        agents_s: seconds that this process has spent so far on reading what agents send, which are no delay.

    Attributes:
        was_answered: whether a call of its own server has ever been answered.
    """

    def __init__(
        self,
        clock: Clock,
        call: Callable[[], Awaitable[None]] | None = None,
        agents_s: Callable[[], float] = lambda: AGENTS_TIME.total_s,
    ) -> None:
        self._clock = clock
        self._agents_s = agents_s
        self._call = call or self._call_echo
        self._delays: deque[tuple[float, float]] = deque(maxlen=MAX_DELAYS)
        # Both with the seconds spent on agents until the wait began.
        self._wake_due: tuple[float, float] | None = None
        self._called_at: tuple[float, float] | None = None
        self._call_due = self._clock.monotonic()
        self._tasks: list[asyncio.Task[None]] = []
        self._ending: list[asyncio.Task[None]] = []
        self._server: Echo | None = None
        self._client: Client | None = None
        self.was_answered = False

    def start(self) -> None:
        """Begin to watch, unless it watches already."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._watch_loop(), name="canary's loop"),
                asyncio.create_task(self._watch_calls(), name="canary's calls"),
            ]

    def stop(self) -> None:
        """Stop watching for now."""
        for task in self._tasks:
            task.cancel()
        self._ending = [task for task in (*self._ending, *self._tasks) if not task.done()]
        self._tasks = []
        self._wake_due = self._called_at = None

    async def aclose(self) -> None:
        """Stop for good."""
        self.stop()
        await asyncio.gather(*self._ending, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
        if self._server is not None:
            self._server.close()

    def late_s(self, begin: float, end: float) -> float:
        """For how many seconds between two moments this side was late.

        Args:
            begin, end: of the clock's monotonic time.
        """
        delays = _merged([*self._delays, *self._pending()])
        return sum(max(0.0, min(end, last) - max(begin, first)) for first, last in delays)

    def late_beyond_allowed_s(self, begin: float, limit_s: float) -> float:
        """For how many seconds this side was late while a deadline ran; 0 if they are no more than :func:`allowed_s`.

        Args:
            begin: when the time until the deadline began, of the clock's monotonic time.
            limit_s: the seconds that the agent had.
        """
        late = self.late_s(begin, begin + limit_s)
        return late if late > allowed_s(limit_s) else 0.0

    def _pending(self) -> Iterable[tuple[float, float]]:
        """The delays that have not ended yet."""
        return [late for due in (self._wake_due, self._called_at) if due is not None for late in self._late_since(*due)]

    def _late_since(self, due: float, agents_s: float) -> list[tuple[float, float]]:
        """The delay of what was due then, without the seconds spent on agents since; nothing if it is short."""
        first, now = due + self._agents_s() - agents_s, self._clock.monotonic()
        return [(first, now)] if now - first > TOLERATED_DELAY_S else []

    async def _watch_loop(self) -> None:
        while True:
            self._wake_due = due = self._clock.monotonic() + LOOP_CHECK_INTERVAL_S, self._agents_s()
            await self._clock.sleep(LOOP_CHECK_INTERVAL_S)
            self._delays.extend(self._late_since(*due))

    async def _watch_calls(self) -> None:
        while True:
            # A referee whose matches are short stops and starts the canary many times a second.
            await self._clock.sleep(max(0.0, self._call_due - self._clock.monotonic()))
            begun = self._clock.monotonic()
            self._call_due = begun + CALL_INTERVAL_S
            # If no call was ever answered, a late one proves nothing: perhaps the machine forbids calls to itself.
            self._called_at = (begun, self._agents_s()) if self.was_answered else None
            try:
                await self._call()
            except (CallFailed, OSError) as error:
                logger.warning("the canary's call is not answered: %s", error)
            else:
                self.was_answered = True
            if self._called_at is not None:
                self._delays.extend(self._late_since(*self._called_at))
                self._called_at = None
            self._call_due = self._clock.monotonic() + CALL_INTERVAL_S

    async def _call_echo(self) -> None:
        self._server = self._server or Echo()
        self._client = self._client or Client(agent_type="referee", policy=EndpointPolicy())
        await self._client.post(self._server.url, {}, limit_s=CALL_TIMEOUT_S)


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The spans, with those that overlap made one, so that no second counts twice."""
    merged: list[tuple[float, float]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
