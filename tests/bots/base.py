"""What all bots share: listening on a port, a log, outgoing calls, and a process that stops when it is told to.

Bots test the project, so the only import from it is the helper that stops a server.
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

from league_sdk.serving import AT_ONCE_S, clean_up

Kind = TypeVar("Kind")
RESET = b"\x01\0\0\0\0\0\0\0"
"""Value for SO_LINGER with a time of zero: closing the socket then sends a TCP reset."""


class Log:
    """A log file of JSON lines, overwritten at the start; line buffered, so that a test can read it meanwhile."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)

    def write(self, **line: Any) -> None:
        """Append one line."""
        self._file.write(json.dumps(line, ensure_ascii=False, default=repr) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Caller:
    """Makes the outgoing HTTP calls of a bot and logs each of them.

    Args:
        log: gets a line for each call, with ``out``, ``to``, ``status`` and ``reply``.
        host: the local address to call from; empty for any.
        limit_s: seconds that an answer may take.
    """

    def __init__(self, log: Log, host: str = "", limit_s: float = 10) -> None:
        self._log, self._host, self._limit = log, host, ClientTimeout(total=limit_s)
        self._session: ClientSession | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def post(self, url: str, body: Any, **options: Any) -> tuple[int, Any]:
        """POST ``body`` as JSON, or what aiohttp's ``options`` say; returns status and answer, or 0 and None."""
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
        """Start a POST in the background; its answer goes to the log only."""
        task = asyncio.create_task(self.post(url, body, **options))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel the calls in progress and close the session."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()


# -- bots that leave HTTP to a library ----------------------------------------------------------------------

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def bound(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A socket that is bound to a port but does not listen yet: connections to it are refused."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    return sock


@asynccontextmanager
async def listening(
    routes: Handler | Mapping[str, Handler], *, path: str = "/mcp", sock: socket.socket | None = None
) -> AsyncIterator[str]:
    """Serve until the block ends; yields the server's URL, with ``path`` only if ``routes`` is a single handler.

    Args:
        routes: a single handler, or handlers by path.
        path: the path of a single handler.
        sock: the bound socket to listen on; by default one at any free port.
    """
    app = web.Application()
    for at, handler in routes.items() if isinstance(routes, Mapping) else [(path, routes)]:
        app.router.add_route("*", at, handler)
    # On shutdown, do not wait for unfinished answers.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=AT_ONCE_S)
    await runner.setup()
    sock = sock or bound()
    try:
        await web.SockSite(runner, sock).start()
        url = "http://{}:{}".format(*sock.getsockname()[:2])
        yield url if isinstance(routes, Mapping) else url + path
    finally:
        await clean_up(runner, [sock])


# -- bots that write their own HTTP -------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One HTTP request that a bot received; the names of its headers are in lower case."""

    verb: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @cached_property
    def body(self) -> dict[str, Any]:
        """The decoded body; empty if it is not a JSON object."""
        try:
            body = json.loads(self.raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def method(self) -> str:
        """The JSON-RPC method; empty if there is none."""
        return str(self.body.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        """The JSON-RPC params; the whole body if there are none."""
        params: dict[str, Any] = self.body.get("params", self.body)
        return params

    @property
    def id(self) -> Any:
        """The JSON-RPC id."""
        return self.body.get("id")


class Talk:
    """One HTTP connection, seen from the agent that was called."""

    def __init__(self, agent: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.agent = agent
        self._reader = reader
        self._writer = writer

    async def read(self) -> Call:
        """Read the next request."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        verb, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        return Call(verb, path, headers, await self._reader.readexactly(int(headers.get("content-length", 0))))

    async def send(self, raw: bytes) -> None:
        """Send bytes unchanged."""
        self._writer.write(raw)
        await self._writer.drain()

    async def say(self, body: bytes, *, kind: str = "application/json", more: str = "", status: str = "200 OK") -> None:
        """Send a response with its Content-Length; ``more`` are further header lines, each with its CRLF."""
        await self.send(head(len(body), kind=kind, more=more, status=status) + body)

    async def stay_silent(self) -> None:
        """Send nothing until the caller disconnects."""
        while await self._reader.read(4096):
            continue

    def is_over(self) -> bool:
        """Whether the agent has closed the connection."""
        return self._writer.is_closing()

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


def head(length: int | None, *, kind: str = "application/json", more: str = "", status: str = "200 OK") -> bytes:
    """Status line and headers of a response; without Content-Length if ``length`` is None."""
    sized = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{sized}{more}\r\n".encode("utf-8", "surrogateescape")


class Conversing(Protocol):
    """An agent that serves connections."""

    async def converse(self, talk: Talk) -> None:
        """Serve one connection; it is closed when this returns."""


class Listener:
    """Accepts TCP connections at a port and hands each to an agent.

    Attributes:
        port: the port's number, known before it listens.
    """

    def __init__(self, agent: Conversing, host: str = "127.0.0.1", port: int = 0) -> None:
        self._agent, self._sock = agent, bound(host, port)
        self.port = int(self._sock.getsockname()[1])
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start listening."""
        self._server = await asyncio.start_server(self._connection, sock=self._sock, limit=1 << 20)

    async def close(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
        self._sock.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            # The caller may disconnect at any moment, and asyncio would log a cancelled task as an error.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._agent.converse(Talk(self._agent, reader, writer))
        finally:
            self._open.discard(task)
            writer.close()


# -- a process that runs bots ---------------------------------------------------------------------------------


def options(description: str) -> argparse.ArgumentParser:
    """A parser with the options that every bot program has; the program adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--league", required=True, help="the league manager's /mcp address")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input ends")
    return parser


def ending(*, with_parent: bool) -> asyncio.Event:
    """An event set by SIGTERM, SIGINT and, ``with_parent``, the end of standard input (the parent ended)."""
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


class Runnable(Protocol):
    """A bot that a process can run."""

    async def start(self) -> str:
        """Listen and register; returns ``READY <name> …`` or ``UNREGISTERED <name> … <why>``."""

    async def stop(self) -> None:
        """Close everything."""


async def run_bots(bots: Iterable[Runnable], *, with_parent: bool) -> int:
    """Start bots one after the other, print the line of each, then ``ALL``, and serve until told to stop.

    Returns:
        0, or 1 when one of them is not registered.
    """
    stop, started, code = ending(with_parent=with_parent), [], 0
    for one in bots:
        line = await one.start()
        started.append(one)
        code |= not line.startswith("READY ")
        print(line.replace("\n", " "), flush=True)
    print("ALL", flush=True)
    await stop.wait()
    for one in started:
        await one.stop()
    return int(code)


def bots_in(kind: type[Kind], *modules: ModuleType) -> dict[str, type[Kind]]:
    """The subclasses of ``kind`` that modules define, by name; names with an underscore are base classes."""
    return {
        name: one
        for module in modules
        for name, one in vars(module).items()
        if isinstance(one, type) and issubclass(one, kind) and one.__module__ == module.__name__ and name[0] != "_"
    }
