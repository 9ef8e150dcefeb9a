"""HTTP of ``manage.py web``: uvicorn's, with an end to how long and how large the head of a request may be.

uvicorn waits for ever for who connects and says nothing, or says it slowly, and keeps all of a head that never ends.
What is done about bodies stands in ``serving``; daphne's share in ``web_server``.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from leaguesite.serving.threads import BODY_LIMIT_S

HEAD_BYTES = 64 * 1024


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Ends a connection that has not sent a whole head within ``BODY_LIMIT_S`` seconds and ``HEAD_BYTES`` bytes.

    Between two requests uvicorn's own time for idle connections holds, until the next one begins.
    """

    _timer: asyncio.TimerHandle | None = None
    _head = 0
    _upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Somebody has connected."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """A part of a request."""
        super().data_received(data)
        if self._upgraded or not self._between_requests():
            self._stop()
            return
        self._head += len(data)
        if self._head > HEAD_BYTES:
            self.transport.abort()
        elif self._timer is None:
            self._wait()

    def handle_websocket_upgrade(self) -> None:
        """The connection is another protocol's from now on."""
        self._upgraded = True
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._stop()
        super().connection_lost(exc)

    def _between_requests(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(BODY_LIMIT_S, self.transport.abort)

    def _stop(self) -> None:
        self._head = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
