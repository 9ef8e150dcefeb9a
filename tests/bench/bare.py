"""What ``tests.bench.room`` compares with: daphne with nothing but a broadcast of each POST to every open socket."""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import time
from typing import Any

from daphne.server import Server

from league_sdk.open_files import raise_file_limit

_senders: set[Any] = set()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Keep sockets open; send the body of a POST to all of them, and answer with the time at which it had arrived."""
    if scope["type"] == "websocket":
        await _socket(receive, send)
    else:
        await _push(receive, send)


async def _socket(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    _senders.add(send)
    try:
        await send({"type": "websocket.send", "bytes": gzip.compress(b'{"type": "snapshot"}')})
        while (await receive())["type"] != "websocket.disconnect":
            continue
    finally:
        _senders.discard(send)


async def _push(receive: Any, send: Any) -> None:
    body = b""
    while True:
        part = await receive()
        body += part.get("body", b"")
        if not part.get("more_body"):
            break
    arrived_at = time.time()
    message = {"type": "websocket.send", "bytes": body}
    await asyncio.gather(*(sender(message) for sender in list(_senders)))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(arrived_at).encode()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bare", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    raise_file_limit()
    Server(
        application,
        endpoints=[f"tcp:port={options.port}:interface=127.0.0.1"],
        ready_callable=lambda: print("READY", flush=True),
    ).run()
