"""For tests of the code that runs checks: what host names lead to, and a database thread beside an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agents_registry.addresses import programs
from matches.live import hub as hubs
from matches.push import notify
from tests.matches.agent_server import Agents

LeadsTo = dict[str, tuple[str, ...]]


@pytest.fixture
def leads_to(monkeypatch: pytest.MonkeyPatch) -> LeadsTo:
    """Where host names in the addresses of agents lead; what a test does not add is being looked up."""
    known: LeadsTo = {}
    monkeypatch.setattr(programs.NAMES, "addresses", lambda host, tell: known.get(host))
    return known


@pytest.fixture
async def db_thread(pushing: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agents]:
    """A thread for database work, and the event ``news``, which every push sets."""
    loop = asyncio.get_running_loop()
    agents = Agents()
    push = notify.push

    def push_and_wake(*changed: Any, **more: Any) -> None:
        push(*changed, **more)
        loop.call_soon_threadsafe(agents.news.set)

    monkeypatch.setattr(notify, "push", push_and_wake)
    yield agents
    subscription = hubs.hub._subscription
    # Redis's client may swallow one cancellation or all of them: cancel eight times, and wait a second after each.
    for _ in range(8):
        if subscription is None or subscription.done():
            break
        subscription.cancel()
        await asyncio.wait({subscription}, timeout=1)
