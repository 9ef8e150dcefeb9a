"""Listening to the channel layer."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.layers import get_channel_layer

from matches.push import notify

LOSES = {"default": {"BACKEND": "tests.matches.push.losing.LosesCancellations"}}


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
