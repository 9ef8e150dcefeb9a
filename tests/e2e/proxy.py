"""A small reverse proxy as a process of its own: with or without ``X-Forwarded-For``.

    python -m tests.e2e.proxy --to http://127.0.0.1:8000 [--silent]

Prints ``READY <port>`` once it listens at 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio

from aiohttp import ClientSession, ClientTimeout, web

from tests.bots.base import bound, ending, listening

_PASSED = ("Content-Type", "Authorization", "Accept", "X-Forwarded-For")


class Proxy:
    """Passes every request on; unless it is silent, it adds whom it was called by."""

    def __init__(self, to: str, *, silent: bool) -> None:
        self._to, self._silent = to, silent

    async def pass_on(self, request: web.Request) -> web.Response:
        """One request, with a connection of its own."""
        head = {name: request.headers[name] for name in _PASSED if name in request.headers}
        if self._silent:
            head.pop("X-Forwarded-For", None)
        else:
            before = request.headers.get("X-Forwarded-For")
            head["X-Forwarded-For"] = f"{before}, {request.remote}" if before else str(request.remote)
        body = await request.read()
        async with (
            ClientSession(timeout=ClientTimeout(total=20)) as client,
            client.request(request.method, f"{self._to}{request.path_qs}", data=body, headers=head) as answer,
        ):
            kind = answer.headers.get("Content-Type", "application/octet-stream")
            return web.Response(status=answer.status, body=await answer.read(), headers={"Content-Type": kind})

    async def serve(self) -> None:
        """Listen until SIGTERM."""
        ended, plug = ending(with_parent=False), bound()
        async with listening({"/{path:.*}": self.pass_on}, plug=plug):
            print("READY", plug.getsockname()[1], flush=True)
            await ended.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True)
    parser.add_argument("--silent", action="store_true")
    options = parser.parse_args()
    asyncio.run(Proxy(options.to, silent=options.silent).serve())
