"""The site's daphne with a small application on it, as a process, for tests of what it does with sockets.

``python -m tests.leaguesite.socket_server PORT UNFINISHED_S``. The application answers every message with its length,
and lets nobody in at ``/never/``. Asked to ``fill 2`` it sends until it is kept waiting for two seconds, and prints
so; at most as much as no connection holds. Asked to ``close 1013`` it does. A page is answered once SIGTERM has come;
then the process ends as one of the site does.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from typing import Any

import django

told_to_stop = asyncio.Event()
PIECE, PIECES = b"x" * 65536, 1000
SMALL = 16 * 1024


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """One socket, or a page."""
    await receive()
    if scope["type"] == "http":
        print("asked", flush=True)
        await told_to_stop.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Length", b"4")]})
        await send({"type": "http.response.body", "body": b"done"})
        return
    if scope["path"] == "/never/":
        await receive()
        return
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] != "websocket.disconnect":
        said = message.get("text") or ""
        if said.startswith("fill "):
            await fill(send, float(said.removeprefix("fill ")))
            return
        if said.startswith("close "):
            await send({"type": "websocket.close", "code": int(said.removeprefix("close "))})
            return
        await send({"type": "websocket.send", "text": str(len(said))})


async def fill(send: Any, patience_s: float) -> None:
    """Send much."""
    try:
        for _ in range(PIECES):
            async with asyncio.timeout(patience_s):
                await send({"type": "websocket.send", "bytes": PIECE})
    except TimeoutError:
        print("kept waiting", flush=True)
    else:
        print("everything was taken", flush=True)


def keep_little(port: Any) -> Any:
    """The system keeps little of what is not read, so that little has to be sent."""
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        port.socket.setsockopt(socket.SOL_SOCKET, option, SMALL)
    return port


def serve(port: int, unfinished_s: float) -> None:
    """Until it is killed."""
    django.setup()
    # Need the apps to be loaded.
    from leaguesite.serving import daphne_sockets  # noqa: PLC0415
    from leaguesite.serving.daphne_server import CappedServer  # noqa: PLC0415

    daphne_sockets.UNFINISHED_S = unfinished_s

    stopping = set()

    def stop() -> None:
        stopping.add(asyncio.get_running_loop().create_task(server.drain(unfinished_s)))
        told_to_stop.set()

    def ready() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        for listener in server.listeners:
            listener.addCallback(keep_little)
        print("ready", flush=True)

    server = CappedServer(application, host="127.0.0.1", port=port, begin=ready)
    server.run()


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]))
