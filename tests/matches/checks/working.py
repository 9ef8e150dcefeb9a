"""A running Checker, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from league_sdk.transport.client import Client
from matches.checks.carrying_out import Checker
from tests.matches.agent_server import Agents


@asynccontextmanager
async def checker_running(db_thread: Agents, check: Any = None, **how: Any) -> AsyncIterator[None]:
    """Run a Checker that carries checks out with ``check``; ``how`` are other arguments of the Checker."""
    client = Client(agent_type="league_manager")
    usual = {"in_thread": db_thread.in_db, "draining": lambda: False, "min_pass_interval_s": 0, "show_interval_s": 0}
    task = asyncio.create_task(
        Checker(client, **usual | ({} if check is None else {"check": check}) | how).keep_checking()
    )
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.aclose()
