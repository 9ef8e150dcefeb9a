"""Our client as the official suite starts it, once for each scenario: ``python -m tests.mcp_suite.calling URL``.

It does with the suite's server what the league does with a player: finds out how it is spoken to, and calls its tools.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from functools import partial
from itertools import count
from typing import Any

from league_sdk.dialects import discovery, session
from league_sdk.dialects.kept import END_S, KeptSessions
from league_sdk.dialects.memory import Memory
from league_sdk.transport.client import Client

LIMIT_S = 5.0
MESSAGE = {
    "a": 5,
    "b": 3,
    "region": "eu",
    "value": "v",
    "data": {},
    "items": [],
    "score": 1,
    "field1": "f",
    "field2": "g",
}
"""The default arguments of tools, unless the scenario has its own values."""


async def main(url: str) -> None:
    """Find out how the server at ``url`` is spoken to, and call each tool that it lists."""
    client, memory, next_id = Client(agent_type="league_manager"), Memory(), partial(next, count(1))
    sessions = KeptSessions(partial(client.delete, limit_s=END_S))
    post = partial(client.post, url)
    calls = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls", [])
    values: dict[str, dict[str, Any]] = {one["name"]: one["arguments"] for one in calls}
    try:
        await discovery.discover(post, memory, next_id, limit_s=LIMIT_S)
        sessions.use(memory, url)
        for name, tool in (memory.tools or {}).items():
            body, _unfilled = tool.call("tools_list", values.get(name, MESSAGE), next_id())
            reply = await session.through(post, body, memory, next_id, limit_s=LIMIT_S)
            sessions.use(memory, url)
            print(name, reply.status, reply.body)
    finally:
        await sessions.aclose()
        await client.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
