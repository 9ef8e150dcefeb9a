"""What the parts of the bench share: command line and folder, waiting, sockets, and the words for what was measured."""

from __future__ import annotations

import argparse
import asyncio
import math
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

ACK = '{"type":"ack"}'
LIMIT_S = 30.0


def command_line(name: str, says: str | None) -> argparse.ArgumentParser:
    """The parser of ``tests.bench.NAME``. From here on a part that is told to stop takes its processes with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return argparse.ArgumentParser(prog=f"python -m tests.bench{name and '.' + name}", description=says)


def within(least: int, most: int) -> Callable[[str], int]:
    """The type of an option with bounds."""

    def whole(text: str) -> int:
        if not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"from {least} to {most}")
        return int(text)

    return whole


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="league-bench-") as name:
        yield Path(name)


async def until(look: Callable[[], bool], limit_s: float = LIMIT_S, tick_s: float = 0.05) -> None:
    """Look until it is so.

    Raises:
        TimeoutError: it was not within ``limit_s``.
    """
    async with asyncio.timeout(limit_s):
        while not look():  # noqa: ASYNC110 - what is waited for is done by other tasks or other processes
            await asyncio.sleep(tick_s)


Watch = Callable[[aiohttp.ClientSession], Coroutine[Any, Any, None]]


@asynccontextmanager
async def sockets(origin: str, watches: list[Watch], ready: Callable[[], bool]) -> AsyncIterator[None]:
    """Watch by so many tasks until the block ends; it begins when they are ready.

    Raises:
        RuntimeError: one of them ended, so its socket was closed.
    """
    session = aiohttp.ClientSession(headers={"Origin": origin}, connector=aiohttp.TCPConnector(limit=0))
    async with session:
        tasks = [asyncio.create_task(watch(session)) for watch in watches]

        def all_there() -> bool:
            lost = [task for task in tasks if task.done()]
            if lost:
                raise RuntimeError(f"{len(lost)} sockets were closed; the first: {lost[0]}")
            return ready()

        try:
            await until(all_there)
            yield
            all_there()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def percentiles(values: list[float]) -> dict[str, float]:
    """p50, p95, p99 (nearest rank) and the largest."""
    ordered = sorted(values)
    return {
        name: ordered[min(len(ordered), math.ceil(share * len(ordered))) - 1]
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    }


def in_words(ms: dict[str, float], *names: str) -> str:
    """Some of the percentiles, by default p50, p99 and the largest."""
    first, *rest = names or ("p50", "p99", "max")
    return "   ".join([f"{ms[first]:8.1f} ms {first}", *(f"{ms[name]:.1f} ms {name}" for name in rest)])
