"""Listening to the channel layer."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.layers import get_channel_layer

from matches.push import notify

LOSES = {"default": {"BACKEND": "tests.matches.push.losing.LosesCancellations"}}
IN_MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
"""It alone can be asked who listens."""


async def test_a_listener_ends_although_the_layer_loses_its_cancellation(settings: Any) -> None:
    settings.CHANNEL_LAYERS = LOSES
    layer: Any = get_channel_layer()
    layer.goes_on.clear()
    listening = asyncio.create_task(notify.listen(lambda message: None))
    await asyncio.wait_for(layer.is_calling.wait(), 5)
    listening.cancel()
    await asyncio.wait({listening}, timeout=0)
    layer.goes_on.set()
    await asyncio.wait({listening}, timeout=5)
    assert listening.cancelled()


async def test_a_message_that_a_listener_fails_at_costs_no_other_one(settings: Any) -> None:
    settings.CHANNEL_LAYERS = IN_MEMORY
    heard, done = list[Any](), asyncio.Event()

    def hear(message: dict[str, Any]) -> None:
        heard.append(message["n"])
        if message["n"] == 2:
            done.set()
        if message["n"] == 1:
            raise TypeError("unhashable type: 'list'")

    layer: Any = get_channel_layer()
    listening = asyncio.create_task(notify.listen(hear, "group"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert "group" in layer.groups
    for number in (1, 2):
        await layer.group_send("group", {"type": "x", "n": number})
    await asyncio.wait_for(done.wait(), 5)
    assert heard == [1, 2]
    assert len(layer.groups["group"]) == 1
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
