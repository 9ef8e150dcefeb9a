"""What every bot rests on: a port, a log, calls of its own, and a life that ends when it is told so.

Nothing here imports the project, which bots are there to judge.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector, web

Kind = TypeVar("Kind")
RESET = b"\x01\0\0\0\0\0\0\0"
"""SO_LINGER of no time: closing sends a reset."""


class Log:
    """A file of JSON lines, written anew; line buffered, so that a test may read while the bot plays."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)

    def write(self, **line: Any) -> None:
        """One line."""
        self._file.write(json.dumps(line, ensure_ascii=False, default=repr) + "\n")

    def close(self) -> None:
        """No more lines."""
        self._file.close()


class Caller:
    """The calls that a bot makes of its own accord, each with a line in its log.

    Args:
        log: where they are noted, as ``out``, ``to``, ``status`` and ``reply``.
        host: the address it calls from, as a player on another machine does; empty for any.
        limit_s: how long an answer may take.
    """

    def __init__(self, log: Log, host: str = "", limit_s: float = 10) -> None:
        self._log, self._host, self._limit = log, host, ClientTimeout(total=limit_s)
        self._session: ClientSession | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def post(self, url: str, body: Any, **options: Any) -> tuple[int, Any]:
        """POST as JSON, or as aiohttp's options say; status and decoded answer, 0 and None when there was none."""
        if self._session is None:
            connector = TCPConnector(local_addr=(self._host, 0)) if self._host else None
            self._session = ClientSession(timeout=self._limit, connector=connector)
        try:
            async with self._session.post(url, **(options or {"json": body})) as response:
                text, status = await response.text(), response.status
        except (ClientError, TimeoutError, ValueError) as failure:
            self._log.write(out=body, to=url, status=0, reply=repr(failure))
            return 0, None
        try:
            reply = json.loads(text) if text else None
        except ValueError:
            reply = text[:2000]
        self._log.write(out=body, to=url, status=status, reply=reply)
        return status, reply

    def later(self, url: str, body: Any, **options: Any) -> None:
        """POST while something else goes on; the answer is noted in the log only."""
        task = asyncio.create_task(self.post(url, body, **options))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()


# -- bots that leave HTTP to a library ----------------------------------------------------------------------

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def bound(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A socket that has its port and does not listen yet: calls are refused."""
    plug = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    plug.bind((host, port))
    return plug


@asynccontextmanager
async def listening(
    routes: Handler | Mapping[str, Handler], *, path: str = "/mcp", plug: socket.socket | None = None
) -> AsyncIterator[str]:
    """Serve until the block ends; gives the address without a path, or with it where there is one handler.

    Args:
        routes: handlers of POST by path, or the only one.
        path: of the only one.
        plug: where to listen; by default any free port.
    """
    app = web.Application()
    for at, handler in routes.items() if isinstance(routes, Mapping) else [(path, routes)]:
        app.router.add_route("*", at, handler)
    # Nobody's answer is waited for at the end.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    plug = plug or bound()
    try:
        await web.SockSite(runner, plug).start()
        url = "http://{}:{}".format(*plug.getsockname()[:2])
        yield url if isinstance(routes, Mapping) else url + path
    finally:
        await runner.cleanup()


# -- bots that write their own HTTP -------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One HTTP request that came in; the names of its headers are in lower case."""

    verb: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @cached_property
    def body(self) -> dict[str, Any]:
        """What it says, or an empty object when that is no JSON object."""
        try:
            body = json.loads(self.raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def method(self) -> str:
        """Of the JSON-RPC request; empty when it has none."""
        return str(self.body.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        """Of the JSON-RPC request, or the whole body when it has none."""
        params: dict[str, Any] = self.body.get("params", self.body)
        return params

    @property
    def id(self) -> Any:
        """Of the JSON-RPC request."""
        return self.body.get("id")


class Talk:
    """One connection, from the end of the agent that was called."""

    def __init__(self, agent: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.agent = agent
        self._reader = reader
        self._writer = writer

    async def read(self) -> Asked:
        """The next request."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        verb, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        return Asked(verb, path, headers, await self._reader.readexactly(int(headers.get("content-length", 0))))

    async def send(self, raw: bytes) -> None:
        """Bytes as they are."""
        self._writer.write(raw)
        await self._writer.drain()

    async def say(self, body: bytes, *, kind: str = "application/json", more: str = "", status: str = "200 OK") -> None:
        """A whole answer with its length; ``more`` are header lines, each with its end."""
        await self.send(head(len(body), kind=kind, more=more, status=status) + body)

    async def never(self) -> None:
        """Say nothing until the caller has gone."""
        while await self._reader.read(4096):
            continue

    def is_over(self) -> bool:
        """Whether this end has closed it."""
        return self._writer.is_closing()

    def reset(self) -> None:
        """End the connection with a reset."""
        plug = self._writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


def head(length: int | None, *, kind: str = "application/json", more: str = "", status: str = "200 OK") -> bytes:
    """Status line and header; without a length none is given."""
    sized = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{sized}{more}\r\n".encode("utf-8", "surrogateescape")


class Conversing(Protocol):
    """Who serves connections."""

    async def converse(self, talk: Talk) -> None:
        """Serve one; it is closed when this returns."""


class Door:
    """A port whose connections are given to an agent as they are.

    Attributes:
        port: its number, known before it listens.
    """

    def __init__(self, agent: Conversing, host: str = "127.0.0.1", port: int = 0) -> None:
        self._agent, self._plug = agent, bound(host, port)
        self.port = int(self._plug.getsockname()[1])
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._connection, sock=self._plug, limit=1 << 20)

    async def close(self) -> None:
        """End every connection."""
        if self._server is not None:
            self._server.close()
        self._plug.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            # Whoever talks to such an agent may go at any moment; asyncio would log a task that was cancelled.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._agent.converse(Talk(self._agent, reader, writer))
        finally:
            self._open.discard(task)
            writer.close()


# -- a process of bots --------------------------------------------------------------------------------------


def options(description: str) -> argparse.ArgumentParser:
    """What every process of bots is told; a bot's own options are added to it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--league", required=True, help="the league manager's /mcp address")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input ends")
    return parser


def ending(*, with_parent: bool) -> asyncio.Event:
    """Set by SIGTERM, SIGINT and, ``with_parent``, the end of standard input, which a parent killed by -9 closes."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    def read() -> None:
        # os.read and not sys.stdin: a daemon thread must not hold its lock at interpreter exit.
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stop.set)

    if with_parent:
        threading.Thread(target=read, daemon=True).start()
    return stop


class Performer(Protocol):
    """One bot of a process."""

    async def start(self) -> str:
        """Listen and register; ``READY <name> …`` or ``UNREGISTERED <name> … <why>``."""

    async def stop(self) -> None:
        """Close everything."""


async def perform(cast: Iterable[Performer], *, with_parent: bool) -> int:
    """Start bots one after the other, print the line of each and ``ALL``, and serve until told to end.

    Returns:
        0, or 1 when one of them is not registered.
    """
    stop, started, code = ending(with_parent=with_parent), [], 0
    for one in cast:
        line = await one.start()
        started.append(one)
        code |= not line.startswith("READY ")
        print(line.replace("\n", " "), flush=True)
    print("ALL", flush=True)
    await stop.wait()
    for one in started:
        await one.stop()
    return int(code)


def cast_of(kind: type[Kind], *modules: ModuleType) -> dict[str, type[Kind]]:
    """The bots of a kind that modules define, by name and in their order; an underscore is for what others rest on."""
    return {
        name: one
        for module in modules
        for name, one in vars(module).items()
        if isinstance(one, type) and issubclass(one, kind) and one.__module__ == module.__name__ and name[0] != "_"
    }
