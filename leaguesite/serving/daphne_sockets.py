"""A socket under daphne, with limits on what comes in and on what waits to be sent.

The other end is a browser, or an agent at its inbox; "browser" stands for both where no agent is named.

Daphne has one size limit for both directions: tables that we send are large, and a browser sends acknowledgements only.
And daphne writes whatever it is given at once, whether or not the browser reads: it would all stay in memory.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from daphne.ws_protocol import WebSocketProtocol

from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite.serving.paths import INBOX_SOCKET
from matches.view.recent import Recent

MAX_MESSAGE_BYTES, MAX_FRAGMENTS = 4096, 16
"""The limits for a message of a browser: an acknowledgement is short, and need not be fragmented."""
MAX_AGENT_MESSAGE_BYTES = MAX_BODY_BYTES
"""The limit for a message of an agent at its inbox: an answer to a referee."""
MESSAGE_TIMEOUT_S = 10.0
"""How long a message may take from its first byte to its last."""
MIN_PREPARED_CHARS, MAX_PREPARED = 1000, 8
"""A message is prepared (encoded for the wire once, for all browsers) if it is at least this long. Few are remembered,
as one message goes to all browsers within a few milliseconds."""
STALLED_TIMEOUT_S = 30
"""After how long the system ends a connection whose other end takes nothing, even if we have closed it: otherwise what
was written to it would stay in memory for ever."""

_prepared_messages: Recent[int, tuple[str | bytes, Any]] = Recent(MAX_PREPARED)
"""The last prepared messages, by the identity of their content: the content, and what goes over the wire for it."""


class CappedSocket(WebSocketProtocol):
    """Drops a browser whose message is too long, in too many fragments or never complete; waits for one that is slow.

    It registers as a producer: the transport tells it when more than twisted's 64 KiB wait to be written, and when
    all is written. In between nothing is read: answers to a browser that sends pings and does not read would pile up.
    """

    _fragments = 0
    _timer: asyncio.TimerHandle | None = None

    def __init__(self) -> None:
        super().__init__()
        self._room = asyncio.Event()
        self._room.set()

    def connectionMade(self) -> None:  # noqa: N802 - twisted's name
        # The HTTP connection that it was until now is registered as the producer.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)
        super().connectionMade()

    def pauseProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.clear()
        self.transport.pauseProducing()
        # While we do not read, the browser cannot complete its message.
        self._stop_timer()

    def resumeProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.set()
        self.transport.resumeProducing()
        self._watch()

    def stopProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.set()

    async def has_room(self) -> None:
        """Wait until the browser has taken what was sent, or the connection has ended."""
        await self._room.wait()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - twisted's name
        super().dataReceived(data)
        # Daphne buffers what comes before the application has accepted the socket.
        if self.state == self.STATE_CONNECTING and len(self.data) > MAX_MESSAGE_BYTES:
            self.transport.abortConnection()
        self._watch()

    def onMessageBegin(self, isBinary: bool) -> None:  # noqa: N802, N803 - autobahn's names
        self._fragments = 0
        super().onMessageBegin(isBinary)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802 - autobahn's name
        super().onMessageFrameBegin(length)
        # Count fragments too: empty ones bypass the size limit.
        self._fragments += 1
        if self.message_data_total_length > self._max_bytes() or self._fragments > MAX_FRAGMENTS:
            self._drop()

    def _max_bytes(self) -> int:
        is_agents = self.path.partition(b"?")[0].strip(b"/") == INBOX_SOCKET.encode()
        return MAX_AGENT_MESSAGE_BYTES if is_agents else MAX_MESSAGE_BYTES

    def onMessageEnd(self) -> None:  # noqa: N802 - autobahn's name
        self._stop_timer()
        super().onMessageEnd()

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - twisted's name
        self._stop_timer()
        self._room.set()
        super().connectionLost(reason)

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802 - daphne's name
        if len(content) < MIN_PREPARED_CHARS or self.state != self.STATE_OPEN:
            super().serverSend(content, binary)
        else:
            self.sendPreparedMessage(self._prepared(content))

    def _prepared(self, content: str | bytes) -> Any:
        """A message as it goes over the wire; made once for all browsers that get the same one."""
        known = _prepared_messages.get(id(content))
        # Another content may have the identity of one that is gone.
        if known is not None and known[0] is content:
            return known[1]
        if isinstance(content, str):
            message = self.factory.prepareMessage(content.encode(), False)
        else:
            message = self.factory.prepareMessage(content, True)
        _prepared_messages[id(content)] = (content, message)
        return message

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802 - daphne's name
        # Autobahn's own method refuses codes that it does not know, such as "try again later" (1013).
        self.sendCloseFrame(code=1000 if code is None else code)

    def _watch(self) -> None:
        if self.state not in (self.STATE_OPEN, self.STATE_CLOSING):
            return
        if not (self.data or self.current_frame is not None or self.inside_message):
            self._stop_timer()
        elif self._timer is None and self._room.is_set():
            self._timer = asyncio.get_running_loop().call_later(MESSAGE_TIMEOUT_S, self._drop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop(self) -> None:
        self.dropConnection(abort=True)


def end_stalled(port: Any) -> Any:
    """Make the system end connections to a port of twisted when they stall; returns the port. Only Linux can do it."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        port.socket.setsockopt(socket.IPPROTO_TCP, option, STALLED_TIMEOUT_S * 1000)
    return port
