"""One web process of several: pages, sockets, API and agents' calls, on uvicorn; it conducts nothing."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator

from uvicorn import Config, Server

from agents_registry.endpoints import endpoint_policy
from league_sdk import collector
from league_sdk.transport.client import Client
from leaguesite.hosting.place import migrations_checked, settle
from leaguesite.observing import health
from leaguesite.serving.listening import listen_at
from leaguesite.serving.threads import LARGEST_WISH
from leaguesite.serving.web_protocol import PatientProtocol
from matches.conducting import trials
from matches.push import notify as live

DRAIN_S = 5
"""Requests under way have so long when the process is told to stop; sockets are closed at once and go elsewhere."""


class Web(Server):
    """uvicorn with what the site hangs on its loop.

    Stops at SIGTERM or Ctrl-C: listens no more, closes the browsers' sockets (they connect again, elsewhere), lets
    requests under way end.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; what is sent to other processes and to agents uses this loop."""
        live.attach(asyncio.get_running_loop())
        self._trying = asyncio.create_task(_keep_trying())
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain."""
        await super().shutdown(sockets)
        self._trying.cancel()
        await asyncio.gather(self._trying, return_exceptions=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Told to stop it ends with 0; uvicorn's own way would raise the signal once more."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


async def _keep_trying() -> None:
    """What my agent's page has sent again: nobody waits for it in a request, so it is sent from this loop."""
    client = Client(agent_type="league_manager", policy=endpoint_policy())
    try:
        await trials.keep_sending(client)
    finally:
        await client.aclose()


def serve(*, host: str, port: int, public_url: str) -> None:
    """Serve until told to stop.

    Args:
        host: the address to listen at.
        port: 1 to 65535.
        public_url: the address students use, that of the proxy.
    """
    settle(public_url=public_url, host=host, port=port)
    health.add_check("migrations", migrations_checked)
    health.add_check("database", health.database_missing)
    from leaguesite.asgi import application  # noqa: PLC0415 - reads the hosts that settle() has set

    collector.settle()
    Web(
        Config(
            application,
            lifespan="off",
            # Frames are gzipped once for all; deflating them once more for each costs four times as much.
            ws_per_message_deflate=False,
            ws_max_size=LARGEST_WISH,
            http=PatientProtocol,
            # Who is believed about the caller's address is the site's own business.
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_config=None,
            timeout_graceful_shutdown=DRAIN_S,
        )
    ).run(sockets=[listen_at(host, port)])
