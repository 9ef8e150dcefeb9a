"""One web process of several: pages, sockets, API and agents' calls; it conducts nothing."""

from __future__ import annotations

import asyncio
import signal

from agents_registry.endpoints import endpoint_policy
from league_sdk import collector
from league_sdk.transport.client import Client
from leaguesite.hosting.place import migrations_checked, settle
from leaguesite.observing import health
from leaguesite.serving.daphne_server import CappedServer
from matches.conducting import trials
from matches.push import notify

DRAIN_S = 5.0
"""Requests under way have so long when the process is told to stop; sockets are closed at once and go elsewhere."""


class Web:
    """Serves until it is told to stop by SIGTERM or Ctrl-C.

    Args:
        host: the address to listen at.
        port: 1 to 65535.
        public_url: the address students use, that of the proxy.
    """

    def __init__(self, *, host: str, port: int, public_url: str) -> None:
        settle(public_url=public_url, host=host, port=port)
        health.add_check("migrations", migrations_checked)
        health.add_check("database", health.database_missing)
        from leaguesite.asgi import application  # noqa: PLC0415 - reads the hosts that settle() has set

        self._server = CappedServer(application, host=host, port=port, begin=self._begin)
        self._trying: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Serve; returns when requests under way have ended, or ``DRAIN_S`` seconds after the signal."""
        collector.settle()
        self._server.run()

    def _begin(self) -> None:
        """What is sent to other processes and to agents uses the server's loop."""
        loop = asyncio.get_running_loop()
        notify.attach(loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        self._trying = loop.create_task(_keep_trying())

    def _stop(self) -> None:
        if self._stopping is not None:
            # A second signal means now.
            self._server.stop()
            return
        self._stopping = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.gather(self._trying, return_exceptions=True)
        await self._server.drain(DRAIN_S)


async def _keep_trying() -> None:
    """What my agent's page has sent again: nobody waits for it in a request, so it is sent from this loop."""
    client = Client(agent_type="league_manager", policy=endpoint_policy())
    try:
        await trials.keep_sending(client)
    finally:
        await client.aclose()
