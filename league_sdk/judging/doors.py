"""How many connections a referee's door keeps open, for how long, and who may send how much over them.

Who is calling is known from the head of a request; a body is read only of somebody who has something left. A stranger
who has used up what strangers have is answered with a ready-made 429, before anything is parsed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import sys
from typing import Any

from aiohttp import web

from league_sdk.judging.door_budgets import LEAGUE, SEAT, Budgets
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import TooOften, league_error

if sys.platform != "win32":
    import resource

_BEARER = re.compile(rb"\r\n(?i:authorization):[ \t]*(?i:bearer)[ \t]+([^ \t\r\n]+)")
MOST_HEAD_BYTES = 16 * 1024
"""Of a head that has not ended after so many the server itself thinks little."""
REFUSED = TooOften("Too much comes from here: try again in a moment.", retry_after_s=1)
_REFUSAL = rpc.dumps(
    rpc.error(None, REFUSED.rpc_code, REFUSED.message, league_error(REFUSED, original_message_type=None))
)
TURNED_AWAY = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Retry-After: 1\r\nContent-Length: %d\r\n\r\n%b" % (len(_REFUSAL), _REFUSAL)
)
KEEPALIVE_S = 15.0
"""A connection that says nothing, or no whole head, for so long is ended."""
MOST_CONNECTIONS = 1000
LINGERING_S = 1.0
"""So long the rest of a body is thrown away before a connection ends, so that its sender reads why."""
MOST_FILES = 65_536
SHARE_OF_FILES = 2
"""Of the door's files one in so many is for who calls us; the others are for the system."""
MOST_OF_A_SEAT = 8
"""Connections at a seat's path; of more the one that was silent longest goes."""


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


def address_of(transport: asyncio.BaseTransport | None) -> str:
    """The address at the other end of a connection; empty when it has ended."""
    name = transport.get_extra_info("peername") if transport is not None else None
    return str(name[0]) if isinstance(name, tuple) and name else ""


class Connection(web.RequestHandler):
    """One that counts: against the number of connections, and with its bytes against its caller's budget."""

    __slots__ = ("_address", "_caller", "_doors", "_head")

    def __init__(self, doors: Doors, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._doors = doors
        self._address = self._caller = ""
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = address_of(transport)
        self._doors.came(self)

    def data_received(self, data: bytes) -> None:
        if data and not self._is_within(data):
            return
        super().data_received(data)

    def is_of(self, caller: str) -> None:
        """The request that is being answered comes from this caller; so may be what follows."""
        self._caller, self._head = caller, b""
        self._doors.heard(self, caller)

    def _is_within(self, data: bytes) -> bool:
        """Whether what came may be read; of a connection that is refused nothing is read any more."""
        budgets = self._doors.budgets
        if not self._caller:
            self._head += data[: MOST_HEAD_BYTES - len(self._head)]
            caller = _caller_in(self._head, budgets)
            if not caller:
                # In no budget, and no reason to stay: bytes of a head would keep a place from who has just come.
                return True
            self.is_of(caller)
            if not budgets.has_room(caller, self._address):
                return self._turn_away()
        else:
            self._doors.heard(self, self._caller)
        return budgets.take_bytes(self._caller, self._address, len(data)) or self._turn_away()

    def _turn_away(self) -> bool:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(TURNED_AWAY)
            self.transport.close()
        # Nothing that still comes is parsed.
        self.force_close()
        return False

    def connection_lost(self, exc: BaseException | None) -> None:
        self._doors.went(self)
        super().connection_lost(exc)


def _caller_in(head: bytes, budgets: Budgets) -> str:
    """Who is calling, from the beginning of a connection; empty while that cannot be known."""
    line, whole, _ = head.partition(b"\r\n")
    words = line.split(b" ")
    path = words[1].decode("latin-1") if whole and len(words) > 1 else ""
    if path and budgets.seat_at(path):
        return budgets.caller(path, "")
    if b"\r\n\r\n" not in head and len(head) < MOST_HEAD_BYTES:
        return ""
    found = _BEARER.search(head)
    return budgets.caller(path, f"Bearer {found[1].decode('latin-1')}" if found else "")


class Doors:
    """Lets callers in to a server.

    Nobody is turned away at the door itself: a whole class may have one address, and who has just come has something
    to say, whereas one that was silent for longer than a thousand others is done or up to no good. Strangers never
    push out a seat's player or the league manager.

    Args:
        manager: the server of an application's runner, which has been set up.
        most: connections at once.
        keepalive_s: how long one may be silent.
        budgets: who may send how much.
    """

    def __init__(
        self,
        manager: web.Server,
        *,
        most: int = MOST_CONNECTIONS,
        keepalive_s: float = KEEPALIVE_S,
        budgets: Budgets | None = None,
    ) -> None:
        self._manager = manager
        self._most, self._keepalive_s = most, keepalive_s
        self.budgets = budgets or Budgets()
        # The one heard of last stands last.
        self._strangers: dict[Connection, None] = {}
        self._known: dict[Connection, str] = {}
        self._servers: list[asyncio.Server] = []

    async def open(self, listening: socket.socket) -> int:
        """Let callers in at a bound socket, which belongs to the doors from now on; returns the port.

        Raises:
            OSError: one cannot listen there.
        """
        loop = asyncio.get_running_loop()

        def connection() -> Connection:
            options: dict[str, Any] = {"keepalive_timeout": self._keepalive_s, "lingering_time": LINGERING_S}
            return Connection(self, self._manager, loop=loop, access_log=None, **options)

        self._servers.append(await loop.create_server(connection, sock=listening))
        # A round gives it all its matches in one moment; whom the system turns away would try again after a second.
        # Said afterwards, as asyncio takes in at once as many as it is told here, and we let go of too many.
        listening.listen(self._most)
        return int(listening.getsockname()[1])

    def close(self) -> None:
        """Let nobody in any more; who is in is for the runner."""
        for server in self._servers:
            server.close()

    def came(self, connection: Connection) -> None:
        """One more."""
        self._strangers[connection] = None
        while len(self._strangers) + len(self._known) > self._most:
            self._let_go(next(iter(self._strangers or self._known)))

    def heard(self, connection: Connection, caller: str) -> None:
        """It said something.

        Args:
            caller: who it is; empty while that is not known.
        """
        if connection not in self._strangers and connection not in self._known:
            return
        before = self._known.get(connection)
        self.went(connection)
        if not caller or self.budgets.kind(caller) not in (LEAGUE, SEAT):
            self._strangers[connection] = None
            return
        self._known[connection] = caller
        if caller not in (before, LEAGUE):
            of_seat = [one for one, other in self._known.items() if other == caller]
            for one in of_seat[:-MOST_OF_A_SEAT]:
                self._let_go(one)

    def went(self, connection: Connection) -> None:
        """It has ended."""
        self._strangers.pop(connection, None)
        self._known.pop(connection, None)

    def _let_go(self, connection: Connection) -> None:
        self.went(connection)
        if connection.transport is not None:
            connection.transport.abort()
