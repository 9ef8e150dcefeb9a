"""The line between a referee's judging process and its door: JSON objects, each with its length before it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Any

from league_sdk.protocol import errors, rpc
from league_sdk.protocol.errors import InternalError, LeagueError

LENGTH_BYTES = 4
MOST_FRAME_BYTES = 1 << 20
"""A body has 64 KiB, and what it is put into adds little; more is a fault of ours."""

Frame = dict[str, Any]


class Pipe:
    """One end of the line.

    Args:
        reader, writer: of a connected stream socket.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Pipe:
        """The line over one end of a socket pair, which belongs to the line from now on."""
        reader, writer = await asyncio.open_unix_connection(sock=end)
        return cls(reader, writer)

    @property
    def waiting_bytes(self) -> int:
        """How much the other side has not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    def send(self, frame: Mapping[str, Any]) -> None:
        """Send an object; when the other side has ended, nothing happens."""
        raw = rpc.dumps(frame)
        if not self._writer.is_closing():
            self._writer.write(len(raw).to_bytes(LENGTH_BYTES, "big") + raw)

    async def receive(self) -> Frame | None:
        """The next object; None when the other side has ended.

        Raises:
            ValueError: what came is not ours.
        """
        try:
            size = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            if size > MOST_FRAME_BYTES:
                raise ValueError(f"a frame of {size} bytes, expected at most {MOST_FRAME_BYTES}")
            # What strangers sent was checked as such by the door, and is one level deeper here.
            frame = json.loads(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        if not isinstance(frame, dict):
            raise ValueError(f"a frame that is a {type(frame).__name__}, expected an object")
        return frame

    def close(self) -> None:
        """End the line; the other side reads its end."""
        self._writer.close()


def refusal(error: LeagueError) -> Frame:
    """An error as it travels on the line."""
    return {"kind": type(error).__name__, "message": error.message, "context": error.context}


def raised(refused: Mapping[str, Any]) -> LeagueError:
    """The error that the other side has sent; :class:`InternalError` for one that is not known here."""
    kind = getattr(errors, str(refused.get("kind")), None)
    known = kind if isinstance(kind, type) and issubclass(kind, LeagueError) else InternalError
    error: LeagueError = known(str(refused.get("message")))
    error.context = dict(refused.get("context") or {})
    return error
