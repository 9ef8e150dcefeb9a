"""An HTTP connection to an agent, which limits how much it receives in one call, whatever the agent sends."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.protocol.limits import MAX_ANSWER_BYTES

MAX_RECEIVED_BYTES = 4 * MAX_ANSWER_BYTES
"""The limit per call for everything that arrives: a reply with its headers, in chunks, and what surrounds it."""
MAX_LINES = 4096
"""The limit per call for lines that end with CR LF: chunks (two lines each), headers and 100 Continue cost time even if
they are short. A piece without a line counts as one: so does a body that comes byte by byte."""
MAX_UNREAD_REPLIES = 8
"""The limit for replies that nobody has read: 100 Continue, or replies without a call."""
MAX_READ_BYTES = 8 * 1024
"""The limit for one read of the socket: hundreds of tiny replies in one read would block the event loop."""


class LimitedConnection(ResponseHandler):
    """aiohttp's connection with limits for each call; what comes after a call counts for it until the next starts."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._calls = 0
        self._reset_limits()

    def begin_call(self) -> None:
        """Reset the limits for the next call."""
        self._calls += 1
        self._reset_limits()

    def _reset_limits(self) -> None:
        self._bytes_left, self._lines_left = MAX_RECEIVED_BYTES, MAX_LINES

    @property
    def was_stale(self) -> bool:
        """Whether the connection was kept open from an earlier call and has received nothing in this one."""
        return self._calls > 1 and self._bytes_left == MAX_RECEIVED_BYTES

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Limit the size of one read, if the transport allows it."""
        if hasattr(transport, "max_size"):
            limited: Any = transport
            limited.max_size = MAX_READ_BYTES
        super().connection_made(transport)

    @AGENTS_TIME
    def data_received(self, data: bytes) -> None:
        """Pass on what was received; end the connection when a limit is passed."""
        self._bytes_left -= len(data)
        self._lines_left -= max(1, data.count(b"\r\n"))
        too_much = min(self._bytes_left, self._lines_left) < 0
        if not too_much:
            super().data_received(data)
        if too_much or len(self) > MAX_UNREAD_REPLIES:
            transport, error = self.transport, aiohttp.ClientPayloadError("more came than an answer has")
            self.set_exception(error)
            if self._payload is not None:
                self._payload.set_exception(error)
            if transport is not None:
                transport.abort()
