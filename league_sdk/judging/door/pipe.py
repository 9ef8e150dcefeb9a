"""The pipe between a referee's judging process and its door: JSON objects, one per line of text."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Any

from league_sdk.protocol import errors, rpc
from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.protocol.errors import InternalError, LeagueError

MAX_FRAME_BYTES = 1 << 20
"""A larger frame is an error of ours.

A frame of the door holds one body, which has at most 64 KiB. The largest ones of the judging process are the metrics,
and its state, which takes some 150 bytes for each seat in play.
"""

Frame = dict[str, Any]


class Pipe:
    """One end of the pipe.

    Args:
        reader, writer: of a connected stream socket.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Pipe:
        """Make a pipe of one end of a socket pair, which belongs to the pipe from now on."""
        reader, writer = await asyncio.open_unix_connection(sock=end, limit=MAX_FRAME_BYTES)
        return cls(reader, writer)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait in this process because the other side reads too slowly."""
        return self._writer.transport.get_write_buffer_size()

    def send(self, frame: Mapping[str, Any]) -> None:
        """Send an object; do nothing if the other side has ended."""
        if not self._writer.is_closing():
            self._writer.write(rpc.dumps(frame) + b"\n")

    async def receive(self) -> Frame | None:
        """The next object; None when the other side has ended.

        Raises:
            ValueError: what came is not a frame.
        """
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return None
        if not line.endswith(b"\n"):
            return None
        return _read(line)

    def close(self) -> None:
        """Close this end, which the other side notices."""
        self._writer.close()


@AGENTS_TIME
def _read(line: bytes) -> Frame:
    # Not rpc.loads, which limits nesting: the door has checked that, and a frame adds a level to a message.
    frame = json.loads(line)
    if not isinstance(frame, dict):
        raise ValueError(f"a frame that is a {type(frame).__name__}, expected an object")
    return frame


def error_to_frame(error: LeagueError) -> Frame:
    """An error as it is sent through the pipe."""
    return {"kind": type(error).__name__, "message": error.message, "context": error.context}


def error_from_frame(frame: Mapping[str, Any]) -> LeagueError:
    """The error that the other side has sent; :class:`InternalError` if its kind is unknown."""
    kind = getattr(errors, str(frame.get("kind")), None)
    known = kind if isinstance(kind, type) and issubclass(kind, LeagueError) else InternalError
    error: LeagueError = known(str(frame.get("message")))
    error.context = dict(frame.get("context") or {})
    return error
