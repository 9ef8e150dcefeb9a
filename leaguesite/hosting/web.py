"""One web process of several: pages, sockets, API and agents' calls; it conducts nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable

from agents_registry.addresses.endpoints import endpoint_policy
from league_sdk import collector, watchdog
from league_sdk.open_files import raise_file_limit
from league_sdk.transport.client import Client
from leaguesite.hosting.place import apply_addresses, check_migrations
from leaguesite.hosting.sidecar import Sidecar
from leaguesite.mcp import mounting
from leaguesite.mcp.telling import keep_telling
from leaguesite.observing import health
from leaguesite.serving.daphne_server import CappedServer
from leaguesite.serving.threads import AGENTS, THREADS, live_thread
from matches.conducting import trials
from matches.inbox import serving
from matches.inbox.hub import hub
from matches.live.hub import hub as live_hub
from matches.push import notify
from storage import clock

STOP_TIMEOUT_S = 4.8
"""A process that was told to stop ends after this time in any case: docs/deployment.md promises five seconds."""
SWITCH_INTERVAL_S = 0.001
"""How long a thread that computes, for a large correction or import, keeps another one waiting each time: a page has
some fifty queries, after each of which it waits so. Python's default is 0.005."""
SIDECAR_INTERVAL_S = 1.0
"""How often this process checks whether its sidecar runs."""
DRAIN_TIMEOUT_S = 4.0
"""How long requests under way may take when the process is told to stop; sockets are closed at once."""


class Web:
    """Serves until it is told to stop by SIGTERM or Ctrl-C; a second signal stops it at once.

    Args:
        host: the address to listen at.
        port: 1 to 65535.
        public_url: the address students use; behind a proxy, that of the proxy.
        keep_shared: whether the sidecar also keeps the folder SHARED, the files of the leagues, up to date.
    """

    _server: CappedServer

    def __init__(self, *, host: str, port: int, public_url: str, keep_shared: bool = False) -> None:
        self._host, self._port, self._public_url = host, port, public_url
        self._background: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Task[None] | None = None
        self._sidecar = Sidecar(f"sidecar-{port}", keep_shared=keep_shared)

    def run(self) -> None:
        """Serve; returns when everything has stopped."""
        clock.follow()
        apply_addresses(public_url=self._public_url, host=self._host, port=self._port)
        health.add_check("migrations", check_migrations)
        health.add_check("database", health.check_database)
        self._prepare()
        from leaguesite.asgi import application  # noqa: PLC0415 - reads the hosts that apply_addresses() has set

        live_hub.render = self._sidecar.fragments
        self._server = CappedServer(application, host=self._host, port=self._port, begin=self._begin)
        collector.exempt_loaded_objects()
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        # Streams and sockets stay open: for a class of students they are more than many systems let a process open at
        # first.
        raise_file_limit()
        self._server.run()

    def _begin(self) -> None:
        """Use the server's loop for what is sent to other processes and to agents."""
        loop = asyncio.get_running_loop()
        notify.attach(loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        self._start()
        telling = loop.create_task(keep_telling(mounting.server))
        self._background += [telling, loop.create_task(self._tend_sidecar()), watchdog.watch(loop)]
        self._background += serving.start(THREADS[AGENTS], has_lines=True)

    async def _tend_sidecar(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            # In the thread that uses it.
            await loop.run_in_executor(live_thread, self._sidecar.tend)
            await asyncio.sleep(SIDECAR_INTERVAL_S)

    def _stop(self) -> None:
        if self._stopping is not None:
            self._quit()
        else:
            end_in_any_case(STOP_TIMEOUT_S)
            self._sidecar.close()
            self._stopping = asyncio.get_running_loop().create_task(self._drain())

    async def _end_background(self) -> None:
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    # What a subclass replaces

    def _prepare(self) -> None:
        """Do what has to be done before anything is served."""

    def _start(self) -> None:
        """Start what runs beside the server, on its loop."""
        self._background = [asyncio.get_running_loop().create_task(_keep_sending())]

    async def _drain(self) -> None:
        """End in good order."""
        hub.close()
        mounting.server.close()
        await self._server.drain(DRAIN_TIMEOUT_S)
        # Only now: what the last requests bring is passed on to other processes.
        await self._end_background()
        self._server.stop()

    def _quit(self) -> None:
        """End at once."""
        self._server.stop()


def end_in_any_case(seconds: float, end: Callable[[int], object] = os._exit) -> threading.Timer:
    """End this process after some time, whatever its threads still do, such as writing a large export.

    Nothing is lost by that: the site may be killed at any moment, and its children end with it.

    Args:
        seconds: until then it may end in good order.
        end: ends the process with the given code.
    """
    timer = threading.Timer(seconds, end, [0])
    timer.daemon = True
    timer.start()
    return timer


async def _keep_sending() -> None:
    """Send again what the page "my agent" asks for: no request waits for an agent, so it is sent from this loop."""
    client = Client(agent_type="league_manager", policy=endpoint_policy())
    try:
        await trials.keep_sending(client)
    finally:
        await client.aclose()
