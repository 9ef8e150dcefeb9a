"""What runs beside a process's inboxes, on its event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor

from matches.inbox.hub import hub
from matches.inbox.other_hubs import Others
from matches.inbox.presence import Presence
from matches.push import notify


def start(executor: Executor, *, has_lines: bool) -> list[asyncio.Task[None]]:
    """Write down which agents dial out, and connect this process with the others if there are any.

    Args:
        executor: a thread for database work.
        has_lines: whether agents can open lines at this process.

    Returns the tasks, to be cancelled when the process ends.
    """
    tasks = [asyncio.create_task(Presence(hub, executor).keep_writing())]
    if notify.reaches_others():
        hub.other_hubs = others = Others(hub, has_lines=has_lines)
        tasks.append(asyncio.create_task(others.keep_talking()))
    return tasks
