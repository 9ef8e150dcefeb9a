"""A channel layer that loses a cancellation, as one on Redis can with Python 3.11."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from channels.layers import InMemoryChannelLayer


class LosesCancellations(InMemoryChannelLayer):
    """Completes each call although it was cancelled during it, and does not say so.

    ``asyncio.wait_for`` of Python 3.11 does that if the cancellation comes as its work ends, and redis sends by it.

    Attributes:
        is_calling: set while a call is being made.
        goes_on: calls are completed only while this is set.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.is_calling, self.goes_on = asyncio.Event(), asyncio.Event()
        self.goes_on.set()

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self._complete(super().group_send(group, message))

    async def group_add(self, group: str, channel: str) -> None:
        await self._complete(super().group_add(group, channel))

    async def _complete(self, work: Coroutine[Any, Any, None]) -> None:
        self.is_calling.set()
        try:
            await self.goes_on.wait()
        except asyncio.CancelledError:
            await self.goes_on.wait()
        await work
        self.is_calling.clear()
