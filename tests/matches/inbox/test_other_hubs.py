"""What a process tells the others of its inboxes, over the channel layer."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.layers import get_channel_layer

from matches.inbox.hub import Hub
from matches.inbox.other_hubs import GROUP, Others
from matches.push.notify import PROCESS_ID
from tests.matches.push.test_notify import LOSES

ANSWER = {"jsonrpc": "2.0", "result": {}, "id": 64}


async def _first_beat(layer: Any, channel: str) -> None:
    while (await asyncio.wait_for(layer.receive(channel), 5))["from"] != PROCESS_ID:
        pass


async def _next(layer: Any, channel: str) -> str:
    """What this process said next, beats left out; others may use the same Redis."""
    while True:
        message = await asyncio.wait_for(layer.receive(channel), 5)
        if message["from"] == PROCESS_ID and message["what"] != "beat":
            return str(message["what"])


async def test_a_process_that_ends_passes_on_what_it_has_and_then_says_so() -> None:
    layer: Any = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)
    others = Others(Hub(), has_lines=True)
    talking = asyncio.create_task(others.keep_talking())
    await _first_beat(layer, channel)
    for number in range(20):
        others.answered(number, 7, ANSWER)
    talking.cancel()
    await asyncio.gather(talking, return_exceptions=True)
    assert [await _next(layer, channel) for _ in range(21)] == ["answered"] * 20 + ["end"]


async def test_a_process_ends_although_the_layer_loses_a_cancellation(settings: Any) -> None:
    settings.CHANNEL_LAYERS = LOSES
    layer: Any = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)
    others = Others(Hub(), has_lines=True)
    talking = asyncio.create_task(others.keep_talking())
    await _first_beat(layer, channel)
    layer.goes_on.clear()
    layer.is_calling.clear()
    others.answered(1, 7, ANSWER)
    await asyncio.wait_for(layer.is_calling.wait(), 5)
    talking.cancel()
    await asyncio.wait({talking}, timeout=0)
    layer.goes_on.set()
    await asyncio.wait({talking}, timeout=5)
    assert talking.cancelled()
    assert [await _next(layer, channel) for _ in range(2)] == ["answered", "end"]
