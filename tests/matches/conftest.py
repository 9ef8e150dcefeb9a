"""A conductor at work, and agents that hear from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agents_registry import programs
from matches.conducting import conductor, due, sender
from matches.push import notify
from tests.matches.agent_server import Agents, serving


@pytest.fixture
async def agents(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agents]:
    """A port with agents; pushes to browsers use this loop, as on a site."""
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(notify, "_loop", loop)
    monkeypatch.setattr(sender, "AGAIN_AFTER_S", 0)
    # All of them have one port: what is behind it is told apart by the path, as behind a gateway.
    monkeypatch.setattr(programs, "gateways", lambda: frozenset({programs.THIS_MACHINE}))
    look = due.look
    async with serving() as found:

        def watched(**how: Any) -> due.Plan:
            plan = look(**how)
            loop.call_soon_threadsafe(found.news.set)
            return plan

        monkeypatch.setattr(due, "look", watched)
        yield found


@asynccontextmanager
async def conducting() -> AsyncIterator[conductor.Conductor]:
    """A conductor at work."""
    with ThreadPoolExecutor(1) as thread:
        found = conductor.Conductor(thread, take_over=True)
        task = asyncio.create_task(found.run())
        try:
            yield found
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
