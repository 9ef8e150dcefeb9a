"""What a process tells the others of its inboxes, over the channel layer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.layers import get_channel_layer

from matches.inbox import other_hubs
from matches.inbox.beats import CUT_OFF_BEATS
from matches.inbox.hub import Hub
from matches.inbox.lines import Terms
from matches.inbox.other_hubs import GROUP, Others
from matches.push.notify import PROCESS_ID
from tests.matches.push.test_notify import LOSES

ANSWER = {"jsonrpc": "2.0", "result": {}, "id": 64}


class Process:
    """A process that tells the others of its inboxes, and one of the others, which hears it.

    Attributes:
        layer: the channel layer between them.
        others: what the process tells them with.
        talking: its task, which has sent the first beat.
    """

    layer: Any
    others: Others
    talking: asyncio.Task[None]
    _channel: str

    @classmethod
    async def begun(cls) -> Process:
        process = cls()
        process.layer = get_channel_layer()
        process._channel = await process.layer.new_channel()
        await process.layer.group_add(GROUP, process._channel)
        process.others = Others(Hub(), has_lines=True)
        process.talking = asyncio.create_task(process.others.keep_talking())
        assert await process._said() == "beat"
        return process

    async def said(self, count: int) -> list[str]:
        """What it said next, beats left out."""
        heard: list[str] = []
        while len(heard) < count:
            if (what := await self._said()) != "beat":
                heard.append(what)
        return heard

    async def _said(self) -> str:
        # Other processes may use the same Redis.
        while (message := await asyncio.wait_for(self.layer.receive(self._channel), 5))["from"] != PROCESS_ID:
            pass
        return str(message["what"])


async def test_a_process_that_ends_passes_on_what_it_has_and_then_says_so() -> None:
    process = await Process.begun()
    for number in range(20):
        process.others.answered(number, 7, ANSWER)
    process.talking.cancel()
    await asyncio.gather(process.talking, return_exceptions=True)
    assert await process.said(21) == ["answered"] * 20 + ["end"]


async def test_a_process_ends_although_the_layer_loses_a_cancellation(settings: Any) -> None:
    settings.CHANNEL_LAYERS = LOSES
    process = await Process.begun()
    layer, talking = process.layer, process.talking
    layer.goes_on.clear()
    layer.is_calling.clear()
    process.others.answered(1, 7, ANSWER)
    await asyncio.wait_for(layer.is_calling.wait(), 5)
    talking.cancel()
    await asyncio.wait({talking}, timeout=0)
    layer.goes_on.set()
    await asyncio.wait({talking}, timeout=5)
    assert talking.cancelled()
    assert await process.said(2) == ["answered", "end"]


@pytest.mark.parametrize("away", [True, False])
async def test_a_process_without_redis_and_database_lets_its_lines_go(
    settings: Any, monkeypatch: pytest.MonkeyPatch, away: bool
) -> None:
    settings.CHANNEL_LAYERS = LOSES
    monkeypatch.setattr(other_hubs, "BEAT_INTERVAL_S", 0)
    monkeypatch.setattr(other_hubs, "is_away", lambda: away)
    hub, swallowed = Hub(), list[str]()
    hub.other_hubs = others = Others(hub, has_lines=True)

    async def swallow(group: str, message: dict[str, Any]) -> None:
        swallowed.append(group)

    monkeypatch.setattr(get_channel_layer(), "group_send", swallow)
    with hub.line(7, "websocket", token="t") as line:
        talking = asyncio.create_task(others.keep_talking())
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(swallowed) > CUT_OFF_BEATS
        # With the database there, Redis may be away for everybody.
        assert line.let_go == away
    talking.cancel()
    await asyncio.gather(talking, return_exceptions=True)


async def test_a_process_says_again_what_its_callers_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_hubs, "LOOK_AGAIN_S", 0.01)
    process = await Process.begun()
    hub = process.others._hub
    hub.other_hubs = process.others
    caller = asyncio.create_task(hub.ask(7, {"jsonrpc": "2.0", "method": "choose_parity", "id": 1}, Terms(30, 30)))
    assert await process.said(3) == ["offered"] * 3
    [number] = hub.waiting(7)
    assert hub.answer(7, ANSWER | {"id": number})
    assert (await caller)["id"] == 1
    assert hub.unanswered(0) == []
    process.talking.cancel()
    await asyncio.wait({process.talking})
