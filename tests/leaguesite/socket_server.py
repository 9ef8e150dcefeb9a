"""The site's web server with a small application, as a process, for tests of WebSockets and of its shutdown.

``python -m tests.leaguesite.socket_server PORT TIMEOUT_S``; within TIMEOUT_S a message of a WebSocket must be whole,
and open requests must end after SIGTERM. The application

- answers every message of a WebSocket with the message's length;
- accepts no WebSocket at ``/never/``;
- on the message ``fill 2`` sends until a send has waited for two seconds, and prints that; it also stops once it has
  sent more than all buffers hold;
- on the message ``close 1013`` closes the WebSocket with that code;
- answers a request of ``/fill/2`` in parts, as the message ``fill 2`` does;
- answers any other HTTP request only after SIGTERM. Then the process ends, as a web process of the site does.
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
    """Handle one WebSocket or one HTTP request."""
    await receive()
    if scope["path"].startswith("/fill/"):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        part = {"type": "http.response.body", "body": PIECE, "more_body": True}
        await fill(send, part, float(scope["path"].removeprefix("/fill/")))
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return
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
        text = message.get("text") or ""
        if text.startswith("fill "):
            await fill(send, {"type": "websocket.send", "bytes": PIECE}, float(text.removeprefix("fill ")))
            return
        if text.startswith("close "):
            await send({"type": "websocket.close", "code": int(text.removeprefix("close "))})
            return
        await send({"type": "websocket.send", "text": str(len(text))})


async def fill(send: Any, part: dict[str, Any], patience_s: float) -> None:
    """Send more than all buffers hold, or until one send has waited for ``patience_s``; print which it was."""
    try:
        for _ in range(PIECES):
            async with asyncio.timeout(patience_s):
                await send(part)
    except TimeoutError:
        print("kept waiting", flush=True)
    else:
        print("everything was taken", flush=True)


def make_buffers_small(port: Any) -> Any:
    """Make a port's buffers small, so that a few messages fill them."""
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        port.socket.setsockopt(socket.SOL_SOCKET, option, SMALL)
    return port


def serve(port: int, timeout_s: float) -> None:
    """Serve until the process is told to stop."""
    django.setup()
    # Imported here because these modules need Django's apps to be loaded.
    from leaguesite.serving import daphne_sockets  # noqa: PLC0415
    from leaguesite.serving.daphne_server import CappedServer  # noqa: PLC0415

    daphne_sockets.MESSAGE_TIMEOUT_S = timeout_s

    stopping = set()

    async def end() -> None:
        await server.drain(timeout_s)
        server.stop()

    def stop() -> None:
        stopping.add(asyncio.get_running_loop().create_task(end()))
        told_to_stop.set()

    def ready() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        for listener in server.listeners:
            listener.addCallback(make_buffers_small)
        print("ready", flush=True)

    server = CappedServer(application, host="127.0.0.1", port=port, begin=ready)
    server.run()


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]))
