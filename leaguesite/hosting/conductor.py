"""A conductor as a separate process. It listens to the channel layer, and to a port for health and metrics."""

from __future__ import annotations

import asyncio
import signal
import sys

from league_sdk import collector, watchdog
from leaguesite.hosting import monitor, shared_folder
from leaguesite.serving.threads import conductor_thread
from matches.conducting.conductor import Conductor
from matches.inbox import serving
from matches.push import notify
from storage import clock

DRAIN_TIMEOUT_S = 3.0
"""How long deliveries in progress may take when the process is told to stop."""


def conduct(host: str, port: int) -> None:
    """Conduct until told to stop by SIGTERM or Ctrl-C.

    Args:
        host: the address for health and metrics.
        port: their port; 0 for none.
    """
    clock.follow()
    collector.exempt_loaded_objects()
    asyncio.run(_conduct(host, port))


async def _conduct(host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    notify.attach(loop)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    conductor = Conductor(conductor_thread)
    tasks = [loop.create_task(conductor.run()), loop.create_task(monitor.watch(conductor, host, port))]
    tasks.append(watchdog.watch(loop))
    tasks += serving.start(conductor_thread, has_lines=False)
    if shared_folder.is_wanted():
        tasks.append(loop.create_task(shared_folder.keeper(lambda: conductor.leads).keep()))
    stopping = loop.create_task(stop.wait())
    await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        sys.stderr.write("Stopping: deliveries in progress are finished, and the next conductor takes over.\n")
        await conductor.leave(DRAIN_TIMEOUT_S)
    for task in (*tasks, stopping):
        task.cancel()
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        # A task that failed ends the process with its error; the service manager restarts it.
        if isinstance(error, Exception):
            raise error
