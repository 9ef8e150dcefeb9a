"""Calls that cross from one process to the conductor of another, through the channel layer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer

from matches.push import notify, nudge

PATIENCE_S = 30


class Layer(InMemoryChannelLayer):
    """Tells who listens."""

    def __init__(self) -> None:
        super().__init__()
        self.joined: asyncio.Queue[str] = asyncio.Queue()

    async def group_add(self, group: str, channel: str) -> None:
        await super().group_add(group, channel)
        self.joined.put_nowait(channel)


@pytest.fixture
async def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    """A layer on which other processes are, too; messages are sent from this loop."""
    found = Layer()
    monkeypatch.setattr(notify, "get_channel_layer", lambda: found)
    monkeypatch.setattr(notify, "reaches_others", lambda: True)
    monkeypatch.setattr(notify, "_loop", asyncio.get_running_loop())
    monkeypatch.setattr(notify, "_failed", False)
    # A loop of another test may have ended before it had sent everything.
    monkeypatch.setattr(notify, "_sending_on", None)
    monkeypatch.setattr(notify, "_pending", {})
    monkeypatch.setattr(notify, "_due", set())
    return found


@asynccontextmanager
async def conductor(layer: Layer) -> AsyncIterator[asyncio.Queue[bool]]:
    """A conductor of this process: how urgently it was woken."""
    woken: asyncio.Queue[bool] = asyncio.Queue()
    detach = nudge.attach(woken.put_nowait)
    hearing = asyncio.create_task(nudge.hear())
    await next_of(layer.joined)
    try:
        yield woken
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        detach()


async def next_of(queue: asyncio.Queue[Any]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        return await queue.get()


async def test_the_conductor_hears_a_call_of_another_process(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with conductor(layer) as woken:
        for due, urgent in (([True], True), ([False], False), ([False, True], True)):
            await layer.group_send(notify.GROUP, {"type": "x", "leagues": {}, "due": due, "from": "another"})
            assert await next_of(woken) is urgent
        # What only changes how a page looks wakes nobody.
        await layer.group_send(notify.GROUP, {"type": "x", "leagues": {"fall": []}, "due": [], "from": "another"})
        await layer.group_send(notify.GROUP, {"type": "x", "leagues": {}, "due": [True], "from": "another"})
        assert await next_of(woken) is True
        assert woken.empty()


async def test_a_call_of_this_process_wakes_its_conductor_once(layer: Layer) -> None:
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    listening = asyncio.create_task(notify.listen(heard.put_nowait))
    async with conductor(layer) as woken:
        await next_of(layer.joined)
        nudge.nudge(urgent=False)
        notify.push("fall", ["R1M1"])
        assert await next_of(woken) is False
        found = await next_of(heard)
        # Both in one message: they came before the loop got to send.
        assert (found["leagues"], found["due"], found["from"]) == ({"fall": ["R1M1"]}, [False], notify.SELF)
        assert woken.empty()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)


async def test_a_site_in_one_process_sends_no_calls(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "reaches_others", lambda: False)
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    listening = asyncio.create_task(notify.listen(heard.put_nowait))
    await next_of(layer.joined)
    nudge.nudge()
    notify.push("fall")
    assert (await next_of(heard))["due"] == []
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    # And hears none: this returns at once.
    await nudge.hear()


async def test_a_layer_that_fails_delays_nobody_and_is_told_once(
    layer: Layer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    send = layer.group_send
    tried: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def gone(group: str, message: dict[str, Any]) -> None:
        tried.put_nowait(message)
        raise ConnectionError("Redis is gone")

    monkeypatch.setattr(layer, "group_send", gone)
    for number in range(3):
        notify.push(f"league-{number}")
        assert list((await next_of(tried))["leagues"]) == [f"league-{number}"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    monkeypatch.setattr(layer, "group_send", send)
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    listening = asyncio.create_task(notify.listen(heard.put_nowait))
    await next_of(layer.joined)
    notify.push("back")
    assert list((await next_of(heard))["leagues"]) == ["back"]
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)


async def test_what_comes_while_the_layer_hangs_is_one_message(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    go_on = asyncio.Event()

    async def slow(group: str, message: dict[str, Any]) -> None:
        sent.put_nowait(message)
        await go_on.wait()

    monkeypatch.setattr(layer, "group_send", slow)
    notify.push("fall", ["R1M1"])
    assert (await next_of(sent))["leagues"] == {"fall": ["R1M1"]}
    for number in range(100):
        notify.push("fall", [f"R2M{number % 2}"])
        notify.push("other")
    assert sent.empty()
    go_on.set()
    assert (await next_of(sent))["leagues"] == {"fall": ["R2M0", "R2M1"], "other": []}


async def test_what_comes_close_behind_a_message_goes_as_one_unless_it_is_urgent(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: asyncio.Queue[float] = asyncio.Queue()
    go_on = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.put_nowait(seconds)
        await go_on.wait()

    monkeypatch.setattr(notify, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": pause}))
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    listening = asyncio.create_task(notify.listen(heard.put_nowait))
    await next_of(layer.joined)
    notify.push("fall", ["R1M1"])
    # The first goes at once, before the pause.
    assert await next_of(pauses) == notify.GATHER_S
    assert (await next_of(heard))["leagues"] == {"fall": ["R1M1"]}
    for number in (2, 3):
        notify.push("fall", [f"R1M{number}"])
    assert heard.empty()
    go_on.set()
    assert (await next_of(heard))["leagues"] == {"fall": ["R1M2", "R1M3"]}
    await next_of(pauses)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)


async def test_an_urgent_call_that_comes_meanwhile_is_not_held_back(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: asyncio.Queue[float] = asyncio.Queue()
    sent: list[list[bool]] = []

    async def pause(seconds: float) -> None:
        pauses.put_nowait(seconds)

    async def send(group: str, message: dict[str, Any]) -> None:
        sent.append(message["due"])
        if len(sent) == 1:
            nudge.nudge(urgent=True)

    monkeypatch.setattr(notify, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": pause}))
    monkeypatch.setattr(layer, "group_send", send)
    notify.push("fall")
    await next_of(pauses)
    assert sent == [[], [True]]
