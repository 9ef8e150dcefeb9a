"""The time limit of a call: a reply that arrived in time is read even if this process was late; no other is."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from league_sdk.transport.limit import within


async def test_an_answer_that_came_in_time_and_was_read_late_is_taken() -> None:
    """The reply waits in the socket while this process is blocked."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    loop = asyncio.get_running_loop()
    # The reply arrived and is unread; the deadline has passed when the loop goes on.
    loop.call_later(0.05, lambda: (theirs.sendall(b"in time"), time.sleep(0.3)))
    async with within(0.1):
        assert await reader.read(7) == b"in time"
    with pytest.raises(TimeoutError):
        async with within(0.01):
            await reader.read(7)
    writer.close()
    await writer.wait_closed()
    theirs.close()


async def test_what_takes_longer_than_its_limit_ends_with_a_timeout() -> None:
    never = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with within(0.01):
            await never.wait()
