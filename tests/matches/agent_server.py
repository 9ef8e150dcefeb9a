"""Agents on a real port for tests of what the conductor sends, and database work from a running event loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiohttp import web
from django.db import connections

from tests.bots.base import bound, listening

T = TypeVar("T")
PATIENCE_S = 30
OK = {"jsonrpc": "2.0", "result": {"status": "ok", "accepted": True}, "id": 1}


class Agents:
    """Any number of agents behind one port, each under a path of its own.

    Attributes:
        received: the messages that came in, by agent.
        answers: what an agent replies instead of :data:`OK`, or a function that returns it; None breaks the connection.
        gates: an agent with a gate replies only after its gate is set.
        news: set whenever a message comes in.
    """

    def __init__(self) -> None:
        self.received: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.answers: dict[str, Any] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.news = asyncio.Event()
        self.port = 0
        self._thread = ThreadPoolExecutor(1)

    def url(self, name: str) -> str:
        """The endpoint of an agent."""
        return f"http://127.0.0.1:{self.port}/{name}/mcp"

    def types(self, name: str) -> list[str]:
        """The message types an agent has received, in order."""
        return [body["params"]["message_type"] for body in self.received[name]]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        body = await request.json()
        self.received[name].append(body)
        self.news.set()
        if name in self.gates:
            await self.gates[name].wait()
        answer = self.answers.get(name, OK)
        if callable(answer):
            answer = answer(body)
        if answer is None:
            assert request.transport is not None
            request.transport.abort()
        return answer if isinstance(answer, web.Response) else web.json_response(answer)

    async def in_db(self, work: Callable[[], T]) -> T:
        """Run database work in a thread of its own, as a request would."""

        def work_and_close() -> T:
            try:
                return work()
            finally:
                connections.close_all()

        return await asyncio.get_running_loop().run_in_executor(self._thread, work_and_close)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is true; it is tested again after each message received."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self.news.clear()
                await self.news.wait()

    async def until_in_db(self, condition: Callable[[], bool]) -> None:
        """Like :meth:`until`, for a condition on rows."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self.news.clear()
                if await self.in_db(condition):
                    return
                await self.news.wait()


@asynccontextmanager
async def serving() -> AsyncIterator[Agents]:
    """Serve agents on a free port."""
    agents = Agents()
    sock = bound()
    agents.port = sock.getsockname()[1]
    async with listening({"/{name}/mcp": agents._answer}, sock=sock):
        try:
            yield agents
        finally:
            for gate in agents.gates.values():
                gate.set()
    agents._thread.shutdown()
