from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from matches.live import hub as hubs
from tests.matches.agent_server import Agents


@pytest.fixture
async def db_thread(pushing: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agents]:
    """The thread for database work of a fake server of agents, of which nothing else is used.

    Its ``news`` is set when a page was rendered anew. Pushes use the test's loop.
    """
    agents = Agents()
    update = hubs.Page.update

    def watched(page: hubs.Page, fragments: dict[str, str]) -> None:
        update(page, fragments)
        agents.news.set()

    monkeypatch.setattr(hubs.Page, "update", watched)
    yield agents
    sockets, subscription = hubs.hub.sockets, hubs.hub._subscription
    while subscription is not None and not subscription.done():
        # Again, if need be: redis-py swallows a cancellation that comes while it subscribes.
        subscription.cancel()
        await asyncio.wait({subscription}, timeout=1)
    assert sockets == 0
