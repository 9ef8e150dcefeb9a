"""A browser's socket under daphne, with limits on what it says and on what waits to be sent to it.

Daphne has one limit for what is read and for what is sent, and tables are large; a browser says nothing but
acknowledgements. And daphne writes whatever it is given at once, whether or not anybody reads: it would all stay in
memory.
"""

from __future__ import annotations

import asyncio
from typing import Any

from daphne.ws_protocol import WebSocketProtocol

LARGEST_WISH, MOST_FRAGMENTS = 4096, 16
"""Of what a browser says: it says nothing but acknowledgements, and has no reason to divide one."""
UNFINISHED_S = 10.0
"""How long a message may take from its first byte to its last."""


class CappedSocket(WebSocketProtocol):
    """Drops who sends a message that is too long, in too many pieces, or never done; waits for who does not read.

    To the transport it is a producer: it is told when more than twisted's 64 KiB wait to be written, and when nothing
    does any more. In between nothing is read either: we would keep the answers for who sends pings and reads none.
    """

    _fragments = 0
    _timer: asyncio.TimerHandle | None = None

    def __init__(self) -> None:
        super().__init__()
        self._room = asyncio.Event()
        self._room.set()

    def connectionMade(self) -> None:  # noqa: N802 - twisted's name
        # Until now it was an HTTP connection, which has no part in this any more.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)
        super().connectionMade()

    def pauseProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.clear()
        self.transport.pauseProducing()
        # For as long as we do not read, it cannot finish anything.
        self._stop_timer()

    def resumeProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.set()
        self.transport.resumeProducing()
        self._watch()

    def stopProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.set()

    async def has_room(self) -> None:
        """Wait until what was sent has been taken, or the connection has ended."""
        await self._room.wait()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - twisted's name
        super().dataReceived(data)
        # What comes before the site has answered is kept until it has.
        if self.state == self.STATE_CONNECTING and len(self.data) > LARGEST_WISH:
            self.transport.abortConnection()
        self._watch()

    def onMessageBegin(self, isBinary: bool) -> None:  # noqa: N802, N803 - autobahn's names
        self._fragments = 0
        super().onMessageBegin(isBinary)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802 - autobahn's name
        super().onMessageFrameBegin(length)
        # Counted, too: a fragment of nothing has no length.
        self._fragments += 1
        if self.message_data_total_length > LARGEST_WISH or self._fragments > MOST_FRAGMENTS:
            self._drop()

    def onMessageEnd(self) -> None:  # noqa: N802 - autobahn's name
        self._stop_timer()
        super().onMessageEnd()

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - twisted's name
        self._stop_timer()
        self._room.set()
        super().connectionLost(reason)

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802 - daphne's name
        # Autobahn's own way knows fewer codes than there are: "try again later" (1013) would be an error.
        self.sendCloseFrame(code=1000 if code is None else code)

    def _watch(self) -> None:
        if self.state not in (self.STATE_OPEN, self.STATE_CLOSING):
            return
        if not (self.data or self.current_frame is not None or self.inside_message):
            self._stop_timer()
        elif self._timer is None and self._room.is_set():
            self._timer = asyncio.get_running_loop().call_later(UNFINISHED_S, self._drop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop(self) -> None:
        self.dropConnection(abort=True)
