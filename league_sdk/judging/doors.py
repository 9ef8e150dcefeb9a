"""How many connections a referee keeps open, and for how long.

A referee calls players from the same process that listens, and a process has so many files. Whoever opens connections
and leaves them open must not take those that the calls need: that would be our own failure, match after match.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any

from aiohttp import web

if sys.platform != "win32":
    import resource

KEEPALIVE_S = 15.0
"""A connection that says nothing, or no whole head, for so long is ended."""
MOST_CONNECTIONS = 1000
MOST_FILES = 65_536
SHARE_OF_FILES = 3
"""Of this process' files one in so many is for who calls us; the others are for calls of our own, logs, the system."""


def more_files() -> int:
    """Allow this process as many open files as the system lets it have; how many it may have now."""
    if sys.platform == "win32":
        return MOST_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = MOST_FILES if hard == unlimited else min(hard, MOST_FILES)
    if soft != unlimited and soft < wanted:
        # Some systems have a limit of their own below the one that they name.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_FILES if soft == unlimited else soft


class _Connection(web.RequestHandler):
    """One that counts; of too many the one that was silent longest goes."""

    __slots__ = ("_doors",)

    def __init__(self, doors: Doors, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._doors = doors

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._doors.came(self)

    def data_received(self, data: bytes) -> None:
        self._doors.heard(self)
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._doors.went(self)
        super().connection_lost(exc)


class Doors:
    """Lets callers in to a server.

    Nobody is turned away: a whole class may have one address, and who has just come has something to say, whereas one
    that was silent for longer than a thousand others is done or up to no good.

    Args:
        manager: the server of an application's runner, which has been set up.
        most: connections at once.
        keepalive_s: how long one may be silent.
    """

    def __init__(self, manager: web.Server, *, most: int = MOST_CONNECTIONS, keepalive_s: float = KEEPALIVE_S) -> None:
        self._manager = manager
        self._most, self._keepalive_s = most, keepalive_s
        # The one heard of last stands last.
        self._open: dict[_Connection, None] = {}
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> int:
        """Listen; returns the port.

        Raises:
            OSError: the address cannot be used.
        """
        loop = asyncio.get_running_loop()

        def connection() -> _Connection:
            return _Connection(self, self._manager, loop=loop, keepalive_timeout=self._keepalive_s, access_log=None)

        self._server = await loop.create_server(connection, host, port, reuse_address=True)
        for listening in self._server.sockets:
            # A round gives it all its matches in one moment; whom the system turns away would try again after a second.
            # Said afterwards, as asyncio takes in at once as many as it is told here, and we let go of too many.
            with listening.dup() as same:
                same.listen(self._most)
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Let nobody in any more; who is in is for the runner."""
        if self._server is not None:
            self._server.close()

    def came(self, connection: _Connection) -> None:
        """One more."""
        self._open[connection] = None
        while len(self._open) > self._most:
            silent = next(iter(self._open))
            del self._open[silent]
            if silent.transport is not None:
                silent.transport.abort()

    def heard(self, connection: _Connection) -> None:
        """It said something."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def went(self, connection: _Connection) -> None:
        """It has ended."""
        self._open.pop(connection, None)
