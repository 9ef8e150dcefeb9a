"""Stands between the players that dial out and the site, and cuts their connections as the plan says.

What happens on a connection is seen from its bytes: a POST has an answer in it, any other request is a poll until the
site opens a socket by status 101, and a message or a receipt from the site is recognised by a word in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from tests.bots.base import RESET, bound
from tests.chaos import plan

_PART_BYTES = 65_536
_OPENED = b"HTTP/1.1 101"
_DELIVERS, _RECEIPT, _MESSAGE = b"POST ", b'"accepted"', b'"jsonrpc"'


class _Cut(Exception):
    """The plan cuts the connection here."""


class Cutter:
    """Passes the connections of players on to one address of a site.

    Args:
        site: such as ``http://127.0.0.1:8000``.
        seed: the seed of the run.
        numbers: gives each connection of a run its number.
        on_cut: called with the point of each cut.
        cut_of: the fault of a connection, by the seed and its number.

    Attributes:
        cuts: whether faults happen now.
    """

    def __init__(
        self,
        site: str,
        seed: int,
        numbers: itertools.count[int],
        on_cut: Callable[[str], None],
        *,
        cut_of: Callable[[int, int], plan.Fault] = plan.cut_of,
    ) -> None:
        self._cut_of = cut_of
        self._site, self._seed, self._numbers, self._on_cut = urlsplit(site), seed, numbers, on_cut
        self.cuts = False
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.address = ""
        """The address at which players find the cutter."""

    async def open(self) -> None:
        """Listen on a free port."""
        sock = bound()
        self.address = "http://{}:{}".format(*sock.getsockname())
        self._server = await asyncio.start_server(self._serve, sock=sock)

    async def close(self) -> None:
        """Stop listening, and end what is open."""
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        sides = [writer]
        try:
            site_reader, site_writer = await asyncio.open_connection(self._site.hostname, self._site.port)
            sides.append(site_writer)
            line = _Connection(self._cut_of(self._seed, next(self._numbers)), self._strike)
            pumps = [
                asyncio.create_task(line.carry_up(reader, site_writer)),
                asyncio.create_task(line.carry_down(site_reader, writer)),
            ]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                ends = await asyncio.gather(*pumps, return_exceptions=True)
            if any(isinstance(end, _Cut) for end in ends):
                for one in sides:
                    _reset(one)
        except (OSError, asyncio.CancelledError):
            # The site is being restarted, or the run ends: nobody awaits this task.
            pass
        finally:
            self._open.discard(task)
            for one in sides:
                one.close()

    def _strike(self, point: str) -> bool:
        if self.cuts:
            self._on_cut(point)
        return self.cuts


class _Connection:
    """One connection, and where it is cut.

    Args:
        fault: a fault of the plan.
        strike: called at that point; returns whether faults happen now.
    """

    def __init__(self, fault: plan.Fault, strike: Callable[[str], bool]) -> None:
        self._fault, self._strike = fault, strike
        self._seen: Counter[str] = Counter()
        self._is_socket = False

    async def _step(self, point: str) -> None:
        self._seen[point] += 1
        if point == self._fault.point and self._seen[point] >= self._fault.nth:
            await asyncio.sleep(self._fault.seconds)
            if self._strike(point):
                raise _Cut

    async def carry_up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what the player sends: polls and answers."""
        while part := await reader.read(_PART_BYTES):
            delivers = self._is_socket or part.startswith(_DELIVERS)
            if delivers:
                await self._step(plan.ANSWER_ON_ITS_WAY)
            writer.write(part)
            await writer.drain()
            if self._is_socket:
                await self._step(plan.ANSWERED)
            elif not delivers:
                await self._step(plan.WAITING)

    async def carry_down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what the site sends: messages, and receipts of answers."""
        while part := await reader.read(_PART_BYTES):
            self._is_socket = self._is_socket or part.startswith(_OPENED)
            if _RECEIPT in part:
                await self._step(plan.ANSWERED)
            elif _MESSAGE in part:
                await self._step(plan.MESSAGE_ON_ITS_WAY)
            writer.write(part)
            await writer.drain()
            if _MESSAGE in part:
                await self._step(plan.NOT_ANSWERED)


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with a TCP reset."""
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()
