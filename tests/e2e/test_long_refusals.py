"""Agents that refuse with long errors make no referee late, and are asked less than others (ruling, section 12)."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import web

from tests.bots.base import Handler, listening
from tests.e2e.lone_referee import refereed

pytestmark = [pytest.mark.e2e, pytest.mark.long]
MATCHES = 19
NESTED: object = "x"
for _ in range(28):
    NESTED = [NESTED]
LONG = json.dumps({"jsonrpc": "2.0", "error": {"code": -32601, "message": "no", "data": [NESTED] * 900}})
"""55 KB that take long to walk through."""
MAX_REQUESTS = 7
"""Three refusals end the search, for the invitation and for GAME_OVER; between them comes GAME_ERROR."""
MAX_PROCESSOR_S = 8.0
"""When the referee read each refusal in whole, and sought its words 26 times, it took 25 s."""


def processor_s(pid: int) -> float:
    """The processor seconds that a process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def test_38_agents_that_refuse_at_length_cost_the_referee_little_time(tmp_path: Path) -> None:
    requests: Counter[int] = Counter()

    def agent(number: int) -> Handler:
        async def refuse(request: web.Request) -> web.Response:
            requests[number] += 1
            return web.Response(text=LONG, content_type="application/json")

        return refuse

    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(listening(agent(number))) for number in range(2 * MATCHES)]
        bench = await stack.enter_async_context(refereed(tmp_path / "referee.log"))
        before = processor_s(bench.referee.pid)
        # So long that no try is late, and excused, on a busy machine.
        matches = [bench.play(*pair, join_timeout_s=60) for pair in zip(urls[::2], urls[1::2], strict=True)]
        ids = await asyncio.gather(*matches)
        spent_s = processor_s(bench.referee.pid) - before
        results = [bench.league.results[match] for match in ids]
    assert {(one["status"], one["result"]["winner"]) for one in results} == {("TECHNICAL_LOSS", None)}
    assert max(requests.values()) <= MAX_REQUESTS
    assert spent_s < MAX_PROCESSOR_S
