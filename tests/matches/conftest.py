"""A running conductor, agents that it calls, and another database connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from channels.layers import channel_layers, get_channel_layer

from agents_registry.addresses import programs
from matches.conducting import conductor, due
from matches.conducting.sending import Patience
from matches.push import notify
from tests.matches.agent_server import Agents, serving
from tests.matches.races import Other


@pytest.fixture
def other() -> Iterator[Other]:
    """Another thread with its own database connection, for tests of two changes at once."""
    other = Other()
    yield other
    other.wait()


@pytest.fixture
async def pushing() -> None:
    """Pushes to browsers use the loop of the test, as on a site."""
    notify.attach(asyncio.get_running_loop())


@contextmanager
def on_layer(layer: Any) -> Iterator[None]:
    """This channel layer connects the processes of the site as long as the context lasts."""
    before = get_channel_layer()
    channel_layers.set("default", layer)
    try:
        yield
    finally:
        channel_layers.set("default", before)


def look_by(monkeypatch: pytest.MonkeyPatch, look: Callable[..., due.Plan]) -> None:
    """Conductors look at the rows by this function from now on."""
    monkeypatch.setattr(due, "look", look)


@pytest.fixture
async def agents(pushing: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agents]:
    """Agents that listen at one port; their ``news`` is also set after each look of the conductor."""
    loop = asyncio.get_running_loop()
    # All agents share one port, and are told apart by the path, as behind a gateway.
    monkeypatch.setattr(programs, "gateways", lambda: frozenset({programs.THIS_MACHINE}))
    look = due.look
    async with serving() as agents:

        def watched(**how: Any) -> due.Plan:
            plan = look(**how)
            loop.call_soon_threadsafe(agents.news.set)
            return plan

        look_by(monkeypatch, watched)
        yield agents


@asynccontextmanager
async def conducting(**how: Any) -> AsyncIterator[conductor.Conductor]:
    """Run a conductor that tries again without a pause."""
    with ThreadPoolExecutor(1) as thread:
        running = conductor.Conductor(thread, alone=True, **{"patience": Patience(retry_s=0)} | how)
        task = asyncio.create_task(running.run())
        try:
            yield running
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
