"""Our server core with the suite's fixtures, at a port: ``python -m tests.mcp_suite.serving [PORT]``."""

from __future__ import annotations

import asyncio
import sys
import time

from aiohttp import web

from league_sdk.mcp.requests import HttpRequest
from league_sdk.mcp.server import McpServer, Origins
from league_sdk.mcp.sessions import Sessions
from league_sdk.mcp.states import States
from league_sdk.serving import Port, respond
from tests.mcp_suite.fixtures import add_triggers, fixture_registry


def fixture_server() -> McpServer:
    """Our core with the suite's fixtures."""
    registry = fixture_registry()
    server = McpServer(
        registry, states=States(b"fixtures", time.time), sessions=Sessions(b"fixtures", time.time), origins=Origins()
    )
    add_triggers(registry, server.listeners)
    return server


def fixture_port(server: McpServer) -> Port:
    """A port at which a core answers, at any path."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        incoming = HttpRequest(request.method, headers, await request.read(), caller=request.remote or "")
        return await respond(request, await server.handle(incoming))

    return Port(handle)


async def _main(port: int) -> None:
    opened = fixture_port(fixture_server())
    print(await opened.open("127.0.0.1", port), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
