"""Nudges cross from one process to the conductor of another, in the messages of the channel layer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer

from matches.push import notify, nudge
from tests.matches.conftest import on_layer

PATIENCE_S = 30


class Layer:
    """A channel layer that other processes are on. It tells who listens, and a test can have it fail or hang.

    Attributes:
        joined: the channels that joined a group.
        send_instead: what is called in place of sending a message to a group; None to send it.
        pause: what the sender of messages waits with between two of them.
    """

    def __init__(self) -> None:
        self._layer = InMemoryChannelLayer()
        self.joined: asyncio.Queue[str] = asyncio.Queue()
        self.send_instead: Callable[[dict[str, Any]], Awaitable[None]] | None = None
        self.pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if self.send_instead is None:
            await self._layer.group_send(group, message)
        else:
            await self.send_instead(message)

    async def wait(self, seconds: float) -> None:
        """Pause between two messages."""
        await self.pause(seconds)

    async def group_add(self, group: str, channel: str) -> None:
        await self._layer.group_add(group, channel)
        self.joined.put_nowait(channel)

    async def new_channel(self, prefix: str) -> str:
        return str(await self._layer.new_channel(prefix))

    async def receive(self, channel: str) -> Any:
        return await self._layer.receive(channel)


@pytest.fixture
async def layer() -> AsyncIterator[Layer]:
    """A layer on which other processes are, too; messages are sent from this loop."""
    layer = Layer()
    notify.attach(asyncio.get_running_loop(), sleep=layer.wait)
    with on_layer(layer):
        yield layer


@asynccontextmanager
async def conductor(layer: Layer) -> AsyncIterator[asyncio.Queue[bool]]:
    """A conductor of this process: the nudges that it receives, each as whether it is urgent."""
    nudges: asyncio.Queue[bool] = asyncio.Queue()
    detach = nudge.attach(nudges.put_nowait)
    hearing = asyncio.create_task(nudge.hear())
    await next_of(layer.joined)
    try:
        yield nudges
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        detach()


@asynccontextmanager
async def messages_on(layer: Layer) -> AsyncIterator[asyncio.Queue[dict[str, Any]]]:
    """Every message, as another process hears it."""
    messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    listening = asyncio.create_task(notify.listen(messages.put_nowait))
    await next_of(layer.joined)
    try:
        yield messages
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def next_of(queue: asyncio.Queue[Any]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        return await queue.get()


async def test_the_conductor_receives_a_nudge_of_another_process(layer: Layer) -> None:
    async with conductor(layer) as nudges:
        for due, urgent in (([True], True), ([False], False), ([False, True], True)):
            await layer.group_send(notify.GROUP, {"type": "x", "leagues": {}, "due": due, "from": "another"})
            assert await next_of(nudges) is urgent
        # What only changes how a page looks is no nudge.
        await layer.group_send(notify.GROUP, {"type": "x", "leagues": {"fall": []}, "due": [], "from": "another"})
        await layer.group_send(notify.GROUP, {"type": "x", "leagues": {}, "due": [True], "from": "another"})
        assert await next_of(nudges) is True
        assert nudges.empty()


async def test_a_nudge_of_this_process_wakes_its_conductor_once(layer: Layer) -> None:
    async with messages_on(layer) as messages, conductor(layer) as nudges:
        nudge.nudge(urgent=False)
        notify.push("fall", ["R1M1"])
        assert await next_of(nudges) is False
        message = await next_of(messages)
        # Both are in one message, as both were made before the loop could send.
        assert (message["leagues"], message["due"], message["from"]) == ({"fall": ["R1M1"]}, [False], notify.PROCESS_ID)
        assert nudges.empty()


async def test_a_message_says_in_which_leagues_a_match_has_ended(layer: Layer) -> None:
    async with messages_on(layer) as messages:
        notify.push("fall", ["R1M1"])
        notify.push("fall", ["R1M2"], result=True)
        notify.push("spring", ["R1M1"])
        message = await next_of(messages)
        assert message["leagues"] == {"fall": ["R1M1", "R1M2"], "spring": ["R1M1"]}
        assert message["results"] == ["fall"]
        notify.push("fall", ["R1M3"])
        assert (await next_of(messages))["results"] == []


async def test_a_site_in_one_process_sends_no_nudges(pushing: None) -> None:
    layer = InMemoryChannelLayer()
    channel = await layer.new_channel()
    await layer.group_add(notify.GROUP, channel)
    with on_layer(layer):
        nudge.nudge()
        notify.push("fall")
        async with asyncio.timeout(PATIENCE_S):
            assert (await layer.receive(channel))["due"] == []
        # Nobody has to listen for nudges of other processes: this returns at once.
        await nudge.hear()


async def test_a_layer_that_fails_delays_nobody_and_is_logged_once(
    layer: Layer, caplog: pytest.LogCaptureFixture
) -> None:
    tried: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def gone(message: dict[str, Any]) -> None:
        tried.put_nowait(message)
        raise ConnectionError("Redis is gone")

    layer.send_instead = gone
    for number in range(3):
        notify.push(f"league-{number}")
        assert list((await next_of(tried))["leagues"]) == [f"league-{number}"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    layer.send_instead = None
    async with messages_on(layer) as messages:
        notify.push("back")
        assert list((await next_of(messages))["leagues"]) == ["back"]


async def test_changes_that_come_while_the_layer_hangs_are_sent_as_one_message(layer: Layer) -> None:
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    go_on = asyncio.Event()

    async def slow(message: dict[str, Any]) -> None:
        sent.put_nowait(message)
        await go_on.wait()

    layer.send_instead = slow
    notify.push("fall", ["R1M1"])
    assert (await next_of(sent))["leagues"] == {"fall": ["R1M1"]}
    for number in range(100):
        notify.push("fall", [f"R2M{number % 2}"])
        notify.push("other")
    assert sent.empty()
    go_on.set()
    assert (await next_of(sent))["leagues"] == {"fall": ["R2M0", "R2M1"], "other": []}


async def test_changes_that_follow_a_message_closely_are_sent_as_one_message(layer: Layer) -> None:
    pauses: asyncio.Queue[float] = asyncio.Queue()
    go_on = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.put_nowait(seconds)
        await go_on.wait()

    layer.pause = pause
    async with messages_on(layer) as messages:
        notify.push("fall", ["R1M1"])
        # The first goes at once, before the pause.
        assert await next_of(pauses) == notify.BATCH_INTERVAL_S
        assert (await next_of(messages))["leagues"] == {"fall": ["R1M1"]}
        for number in (2, 3):
            notify.push("fall", [f"R1M{number}"])
        assert messages.empty()
        go_on.set()
        assert (await next_of(messages))["leagues"] == {"fall": ["R1M2", "R1M3"]}
        await next_of(pauses)


async def test_an_urgent_nudge_is_not_delayed(layer: Layer) -> None:
    pauses: asyncio.Queue[float] = asyncio.Queue()
    sent: list[list[bool]] = []

    async def pause(seconds: float) -> None:
        pauses.put_nowait(seconds)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["due"])
        if len(sent) == 1:
            nudge.nudge(urgent=True)

    layer.pause, layer.send_instead = pause, send
    notify.push("fall")
    await next_of(pauses)
    assert sent == [[], [True]]
