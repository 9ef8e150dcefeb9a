"""A conductor as a process of its own; it listens to nothing but the channel layer."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence

from league_sdk import collector
from leaguesite.serving.threads import conductor_thread
from matches.conducting.conductor import Conductor
from matches.push import notify

DRAIN_S = 3.0
"""What is on its way to agents has so long when the process is told to stop."""

Beside = Callable[[Conductor], Awaitable[None]]
"""Work that runs beside the conductor, on its loop, until it is cancelled."""


def conduct(beside: Sequence[Beside] = ()) -> None:
    """Conduct until told to stop by SIGTERM or Ctrl-C.

    Args:
        beside: what else runs here, such as an address at which the process is watched.
    """
    collector.settle()
    asyncio.run(_conduct(beside))


async def _conduct(beside: Sequence[Beside]) -> None:
    loop = asyncio.get_running_loop()
    notify.attach(loop)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    conductor = Conductor(conductor_thread)
    conducting = asyncio.create_task(conductor.run())
    tasks = [conducting, *(asyncio.ensure_future(work(conductor)) for work in beside)]
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        sys.stderr.write("Stopping: what is on its way is waited for, and the next conductor takes over.\n")
        await conductor.leave(DRAIN_S)
    for task in (*tasks, stopping):
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        # One that ended by itself says why, and whoever started us starts us again.
        if isinstance(error, Exception):
            raise error
