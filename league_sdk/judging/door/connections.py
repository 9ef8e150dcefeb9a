"""Limits the connections of a referee's door: how many, for how long, and how much each caller may send.

The head of a request says who is calling, and a body is read only while its caller has something left. When the budget
of strangers is used up, they get a ready-made 429 response before anything is parsed.
"""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any

from aiohttp import web

from league_sdk.judging.door.budgets import LEAGUE, SEAT, Budgets, too_often
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import league_error

_BEARER = re.compile(rb"\r\n(?i:authorization):[ \t]*(?i:bearer)[ \t]+([^ \t\r\n]+)")
MAX_HEAD_BYTES = 16 * 1024
"""As much of a head is searched for its caller here, before it is parsed; the server itself takes longer heads."""
REFUSED = too_often()
_REFUSAL = rpc.dumps(
    rpc.error(None, REFUSED.rpc_code, REFUSED.message, league_error(REFUSED, original_message_type=None))
)
REFUSAL_RESPONSE = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Retry-After: 1\r\nContent-Length: %d\r\n\r\n%b" % (len(_REFUSAL), _REFUSAL)
)
KEEPALIVE_S = 15.0
"""A connection that has sent no whole request head in this time is closed."""
MAX_CONNECTIONS = 1000
LINGERING_S = 1.0
"""How long the rest of a body is read and thrown away before a connection is closed, so that its sender reads why."""
FILE_LIMIT_DIVISOR = 2
"""Connections use at most half of the files that this process may open; the rest is for its sockets, pipes and logs."""
MAX_CONNECTIONS_PER_SEAT = 8
"""If a seat has more, the one that was silent longest is closed."""


def address_of(transport: asyncio.BaseTransport | None) -> str:
    """The address at the other end of a connection; empty if it has ended."""
    name = transport.get_extra_info("peername") if transport is not None else None
    return str(name[0]) if isinstance(name, tuple) and name else ""


class Connection(web.RequestHandler):
    """A connection that counts against the listener's limit, and whose bytes count against its caller's budget."""

    __slots__ = ("_address", "_caller", "_head", "_listener")

    def __init__(self, listener: Listener, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._listener = listener
        self._address = self._caller = ""
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = address_of(transport)
        self._listener.opened(self)

    def data_received(self, data: bytes) -> None:
        if data and not self._is_within(data):
            return
        super().data_received(data)

    def set_caller(self, caller: str) -> None:
        """The current request comes from this caller, and probably what follows does as well."""
        self._caller, self._head = caller, b""
        self._listener.active(self, caller)

    def _is_within(self, data: bytes) -> bool:
        """Whether the budgets allow reading these bytes; otherwise the connection is refused and closed."""
        budgets = self._listener.budgets
        if not self._caller:
            self._head += data[: MAX_HEAD_BYTES - len(self._head)]
            caller = _caller_in(self._head, budgets)
            if not caller:
                # These bytes count against no budget, and not as activity: slow heads must not push out connections.
                return True
            self.set_caller(caller)
            if not budgets.has_room(caller, self._address):
                return self._refuse()
        else:
            self._listener.active(self, self._caller)
        return budgets.take_bytes(self._caller, self._address, len(data)) or self._refuse()

    def _refuse(self) -> bool:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(REFUSAL_RESPONSE)
            self.transport.close()
        # Do not parse what still arrives.
        self.force_close()
        return False

    def connection_lost(self, exc: BaseException | None) -> None:
        self._listener.closed(self)
        super().connection_lost(exc)


def _caller_in(head: bytes, budgets: Budgets) -> str:
    """The caller of a connection, from its first bytes; empty while it is not known yet."""
    line, line_end, _ = head.partition(b"\r\n")
    words = line.split(b" ")
    path = words[1].decode("latin-1") if line_end and len(words) > 1 else ""
    if path and budgets.seat_at(path):
        return budgets.caller(path, "")
    if b"\r\n\r\n" not in head and len(head) < MAX_HEAD_BYTES:
        return ""
    token = _BEARER.search(head)
    return budgets.caller(path, f"Bearer {token[1].decode('latin-1')}" if token else "")


class Listener:
    """Accepts connections for a server.

    Every connection is accepted, because a whole class may have one address. If there are too many, the one that was
    silent longest is closed; strangers never push out a seat's player or the league manager.

    Args:
        server: the server of an application's runner that has been set up.
        max_connections: at once.
        keepalive_s: a connection that has sent no whole request head in this time is closed.
        budgets: who may send how much.
    """

    def __init__(
        self,
        server: web.Server,
        *,
        max_connections: int = MAX_CONNECTIONS,
        keepalive_s: float = KEEPALIVE_S,
        budgets: Budgets | None = None,
    ) -> None:
        self._server = server
        self._max_connections, self._keepalive_s = max_connections, keepalive_s
        self.budgets = budgets or Budgets()
        # In the order of their last activity.
        self._strangers: dict[Connection, None] = {}
        self._known: dict[Connection, str] = {}
        self._servers: list[asyncio.Server] = []

    async def open(self, listening: socket.socket) -> int:
        """Accept connections at a bound socket, which belongs to the listener from now on; returns the port.

        Raises:
            OSError: the socket cannot be used.
        """
        loop = asyncio.get_running_loop()

        def connection() -> Connection:
            options: dict[str, Any] = {"keepalive_timeout": self._keepalive_s, "lingering_time": LINGERING_S}
            return Connection(self, self._server, loop=loop, access_log=None, **options)

        self._servers.append(await loop.create_server(connection, sock=listening))
        # The length of the queue of callers: a round starts all its matches at once, and a caller that the system
        # refuses tries again only a second later. It is not an argument of create_server, because asyncio would also
        # accept as many connections in one go, more than we keep.
        listening.listen(self._max_connections)
        return int(listening.getsockname()[1])

    def close(self) -> None:
        """Accept no more connections; the runner closes those that are open."""
        for server in self._servers:
            server.close()

    def opened(self, connection: Connection) -> None:
        """A connection was accepted."""
        self._strangers[connection] = None
        while len(self._strangers) + len(self._known) > self._max_connections:
            # A player whose match is over is a stranger now. Its connection has been silent since, perhaps a stream.
            past_players = (known for known, caller in self._known.items() if not self.budgets.is_known(caller))
            self._abort(next(past_players, None) or next(iter(self._strangers or self._known)))

    def active(self, connection: Connection, caller: str) -> None:
        """A connection sent something.

        Args:
            caller: who is calling.
        """
        if connection not in self._strangers and connection not in self._known:
            return
        caller_before = self._known.get(connection)
        self.closed(connection)
        if self.budgets.kind(caller) not in (LEAGUE, SEAT):
            self._strangers[connection] = None
            return
        self._known[connection] = caller
        if caller not in (caller_before, LEAGUE):
            of_seat = [known for known, other in self._known.items() if other == caller]
            for oldest in of_seat[:-MAX_CONNECTIONS_PER_SEAT]:
                self._abort(oldest)

    def closed(self, connection: Connection) -> None:
        """A connection has ended."""
        self._strangers.pop(connection, None)
        self._known.pop(connection, None)

    def _abort(self, connection: Connection) -> None:
        self.closed(connection)
        if connection.transport is not None:
            connection.transport.abort()
