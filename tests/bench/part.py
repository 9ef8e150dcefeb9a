"""What the parts of the bench share: command line, temporary folder, waiting, sockets, and the printing of figures."""

from __future__ import annotations

import argparse
import asyncio
import math
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from league_sdk.open_files import raise_file_limit

ACK = '{"type":"ack"}'
LIMIT_S = 30.0
SOCKETS_PER_ADDRESS = 400
"""Fewer than the site lets one address have on one page (``matches.live.socket.Limits``)."""


def command_line(name: str, description: str | None) -> argparse.ArgumentParser:
    """The parser of ``tests.bench.NAME``.

    From this call on SIGTERM ends this process by SystemExit, so that the processes that it started are stopped too.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return argparse.ArgumentParser(prog=f"python -m tests.bench{name and '.' + name}", description=description)


def within(minimum: int, maximum: int) -> Callable[[str], int]:
    """The argparse type of a whole number from ``minimum`` to ``maximum``."""

    def whole_number(text: str) -> int:
        if not minimum <= int(text) <= maximum:
            raise argparse.ArgumentTypeError(f"from {minimum} to {maximum}")
        return int(text)

    return whole_number


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty temporary folder, deleted when the block ends."""
    with tempfile.TemporaryDirectory(prefix="league-bench-") as name:
        yield Path(name)


async def until(condition: Callable[[], bool], limit_s: float = LIMIT_S, tick_s: float = 0.05) -> None:
    """Wait until a condition holds; it is tried every ``tick_s`` seconds.

    Raises:
        TimeoutError: it did not hold within ``limit_s`` seconds.
    """
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - other tasks or other processes make the condition true
            await asyncio.sleep(tick_s)


Watch = Callable[[aiohttp.ClientSession], Coroutine[Any, Any, None]]


@asynccontextmanager
async def sockets(
    origin: str, watches: list[Watch], ready: Callable[[], bool], over_s: float = 0.0
) -> AsyncIterator[None]:
    """Run each watch as a task until the block ends; the block begins when ``ready`` returns true.

    They begin one after the other over ``over_s`` seconds: a browser that is turned away tries again, these do not.

    Each :data:`SOCKETS_PER_ADDRESS` sockets come from an address of their own, as the site limits them by address.

    Raises:
        RuntimeError: a watch ended by itself, because its socket was closed or it failed.
    """
    raise_file_limit()

    async def begin(number: int, watch: Watch, session: aiohttp.ClientSession) -> None:
        await asyncio.sleep(over_s * number / len(watches))
        await watch(session)

    async with AsyncExitStack() as stack:
        tasks = []
        for number, first in enumerate(range(0, len(watches), SOCKETS_PER_ADDRESS)):
            connector = aiohttp.TCPConnector(limit=0, local_addr=(f"127.0.1.{number + 1}", 0))
            session = await stack.enter_async_context(
                aiohttp.ClientSession(headers={"Origin": origin}, connector=connector)
            )
            some = enumerate(watches[first : first + SOCKETS_PER_ADDRESS], start=first)
            tasks += [asyncio.create_task(begin(at, watch, session)) for at, watch in some]

        def all_ready() -> bool:
            ended = [task for task in tasks if task.done()]
            if ended:
                raise RuntimeError(f"{len(ended)} sockets were closed or failed; the first: {ended[0]}")
            return ready()

        try:
            await until(all_ready, LIMIT_S + over_s)
            yield
            all_ready()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def percentiles(values: list[float]) -> dict[str, float]:
    """The percentiles p50, p95, p99 (nearest rank), and the maximum."""
    ordered = sorted(values)
    return {
        name: ordered[min(len(ordered), math.ceil(share * len(ordered))) - 1]
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    }


def in_words(ms: dict[str, float], *names: str) -> str:
    """Some of the percentiles as text, by default p50, p99 and the maximum."""
    first, *rest = names or ("p50", "p99", "max")
    return "   ".join([f"{ms[first]:8.1f} ms {first}", *(f"{ms[name]:.1f} ms {name}" for name in rest)])
