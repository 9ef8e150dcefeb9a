"""The two loops of an agent that dials out, by long poll and by WebSocket (ruling, section 13)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, WSMsgType

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers one JSON-RPC request."""
BACKOFF_S = 0.3
_TIMEOUT = ClientTimeout(total=60)


def forward_to(url: str) -> Answer:
    """Answers each request by forwarding it to the local server at this URL."""

    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        async with ClientSession(timeout=_TIMEOUT) as session, session.post(url, json=request) as response:
            return dict(await response.json())

    return answer


async def poll(url: str, token: str, answer: Answer) -> str:
    """Fetch messages by long poll until the token is refused or another line takes over; returns which it was."""
    headers = {"Authorization": f"Bearer {token}"}
    after, tasks = "", set[asyncio.Task[None]]()
    async with ClientSession(timeout=_TIMEOUT, headers=headers) as session:

        async def send_answer(request: dict[str, Any]) -> None:
            async with session.post(url, json={"responses": [await answer(request)]}):
                pass

        while True:
            try:
                async with session.get(url, params={"wait": "25", "after": after}) as reply:
                    if reply.status in (401, 409):
                        return await reply.text()
                    if reply.status != 200:
                        await asyncio.sleep(BACKOFF_S)
                        continue
                    batch = await reply.json()
            except (ClientError, TimeoutError):
                # The site is restarting.
                await asyncio.sleep(BACKOFF_S)
                continue
            after = batch["next"]
            for message in batch["messages"]:
                task = asyncio.create_task(send_answer(message["request"]))
                tasks.add(task)
                task.add_done_callback(tasks.discard)


async def socket(url: str, token: str, answer: Answer) -> str:
    """Fetch messages by WebSocket until the token is refused or another line takes over; returns which it was."""
    async with ClientSession(timeout=_TIMEOUT, headers={"Authorization": f"Bearer {token}"}) as session:
        while True:
            try:
                # The session's timeout limits the opening of the socket, not its lifetime.
                async with session.ws_connect(url) as line:

                    async def send_answer(request: dict[str, Any], to: Any = line) -> None:
                        await to.send_json(await answer(request))

                    async with asyncio.TaskGroup() as tasks:
                        async for frame in line:
                            if frame.type is WSMsgType.TEXT:
                                tasks.create_task(send_answer(frame.json()))
                    if line.close_code in (4401, 4409):
                        return f"closed with {line.close_code}"
            except* (ClientError, ConnectionError, TimeoutError):
                pass  # The site is restarting.
            await asyncio.sleep(BACKOFF_S)


LOOPS = {"poll": (poll, "poll_url"), "websocket": (socket, "websocket_url")}
"""For each way of delivery: the loop, and the field of ``inbox`` that has its URL."""
