"""A connection that takes so much for one call and no more, whatever the other side sends."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from league_sdk.protocol.limits import MAX_ANSWER_BYTES

MOST_ON_THE_WIRE = 4 * MAX_ANSWER_BYTES
"""For one call: an answer with its header, in chunks, and whatever comes before and behind it."""
MOST_LINES = 4096
"""For one call, ended by CR LF: what costs time is not a byte but a chunk (two lines), a header, a 100 Continue."""
MOST_UNREAD = 8
"""Answers that nobody has read: 100 Continue, or whole ones to calls that were not made."""
MOST_AT_ONCE = 8 * 1024
"""Bytes in one reading, before the event loop does something else: hundreds of tiny answers fit into it."""


class Measured(ResponseHandler):
    """aiohttp's connection with a measure; between two calls it takes no more than during one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.begin()

    def begin(self) -> None:
        """A call begins: the measure is full again."""
        self._left, self._lines_left = MOST_ON_THE_WIRE, MOST_LINES

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Have asyncio read little at a time, where its transport can be told so."""
        if hasattr(transport, "max_size"):
            told: Any = transport
            told.max_size = MOST_AT_ONCE
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take what came, or end the connection when it is enough."""
        self._left -= len(data)
        self._lines_left -= data.count(b"\r\n")
        enough = min(self._left, self._lines_left) < 0
        if not enough:
            super().data_received(data)
        if enough or len(self) > MOST_UNREAD:
            transport, error = self.transport, aiohttp.ClientPayloadError("more came than an answer has")
            self.set_exception(error)
            if self._payload is not None:
                self._payload.set_exception(error)
            if transport is not None:
                transport.abort()
