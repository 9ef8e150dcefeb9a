"""Requests to the ASGI application as a server passes them on, and a thread that can be blocked."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.testing import ApplicationCommunicator

from leaguesite.asgi import application

PATIENCE_S = 30


class Answer:
    """A complete response."""

    def __init__(self, start: dict[str, Any], body: bytes) -> None:
        self.status: int = start["status"]
        self.headers = [(name.decode().lower(), value.decode("latin1")) for name, value in start["headers"]]
        self.body = body

    def all(self, name: str) -> list[str]:
        return [value for found, value in self.headers if found == name]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def cookies(self) -> dict[str, str]:
        return dict(one.partition(";")[0].split("=", 1) for one in self.all("set-cookie"))


async def begin(
    method: str, path: str, *parts: bytes, whole: bool = True, address: str = "127.0.0.1", **headers: str
) -> ApplicationCommunicator:
    """Begin a request with these parts of its body; if it is not ``whole``, more parts follow."""
    path, _mark, query = path.partition("?")
    named = {"host": "testserver"} | {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": (address, 50000),
        "server": ("127.0.0.1", 8000),
    }
    talk, parts = ApplicationCommunicator(application, scope), parts or (b"",)
    for parts_left, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        await talk.send_input({"type": "http.request", "body": part, "more_body": parts_left > 0 or not whole})
    return talk


async def answer_of(talk: ApplicationCommunicator) -> Answer:
    """Wait for the complete answer to a request."""
    start = await talk.receive_output(PATIENCE_S)
    content, more = b"", True
    while more:
        message = await talk.receive_output(PATIENCE_S)
        content += message.get("body", b"")
        more = message.get("more_body", False)
    await talk.wait(PATIENCE_S)
    return Answer(start, content)


async def send(method: str, path: str, *parts: bytes, **headers: str) -> Answer:
    """One request and its answer."""
    return await answer_of(await begin(method, path, *parts, **headers))


class Held:
    """A pool of one thread that is blocked until ``end``, as if it were busy with other requests."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self._go = threading.Event()
        self._taken = threading.Event()
        self.pool.submit(self._block)
        self._taken.wait(PATIENCE_S)
        self._waiting = 0

    def _block(self) -> None:
        self._taken.set()
        self._go.wait(PATIENCE_S)

    async def wait_for(self, *requests: ApplicationCommunicator) -> list[ApplicationCommunicator]:
        """Wait until these requests are in the thread's queue as well; returns them."""
        self._waiting += len(requests)
        while self.pool._work_queue.qsize() < self._waiting:  # noqa: ASYNC110 - a thread pool's queue has no event
            await asyncio.sleep(0)
        return list(requests)

    def end(self) -> None:
        self._go.set()
        self.pool.shutdown()
