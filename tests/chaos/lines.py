"""How the players of a run that dial out fetch their messages: by long poll or by socket (ruling, section 13).

They connect again at once when a connection breaks, send an answer again if it was lost, and give the same answer to a
message that is offered twice. They import nothing of the project.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

PUSH, POLL, SOCKET = "push", "poll", "websocket"
BACK_AFTER_S = 0.05
DELIVER_S = 4.0
"""How long a player that polls tries to deliver an answer; no caller waits longer for one."""
TRY_S = 1.0
"""The timeout of one try to deliver an answer or to open a socket: a stopped process answers nothing."""
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError, ValueError)


@dataclass(slots=True)
class Line:
    """The line of one player.

    Args:
        way: POLL or SOCKET.
        token: its auth_token.
        addresses: where it finds the site: each is the address of a cutter.
        rng: chooses among them.
        answer: answers one request, once for each id.

    Attributes:
        odd: a sentence for each thing that must not happen on a line.
    """

    way: str
    token: str
    addresses: list[str]
    rng: random.Random
    answer: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
    odd: list[str] = field(default_factory=list)
    _answers: dict[int, tuple[str, asyncio.Task[dict[str, Any]]]] = field(default_factory=dict)
    _delivering: set[asyncio.Task[None]] = field(default_factory=set)

    async def keep(self) -> None:
        """Keep the line open until cancelled."""
        head = {"Authorization": f"Bearer {self.token}"}
        try:
            async with aiohttp.ClientSession(headers=head, timeout=aiohttp.ClientTimeout(total=40)) as http:
                while True:
                    # An error means that the line was cut, or that the site is being restarted.
                    with contextlib.suppress(*_BROKEN):
                        await (self._poll(http) if self.way == POLL else self._socket(http))
                    await asyncio.sleep(BACK_AFTER_S)
        finally:
            for task in (*self._delivering, *(task for _said, task in self._answers.values())):
                task.cancel()

    async def _poll(self, http: aiohttp.ClientSession) -> None:
        after = ""
        while True:
            url = f"{self.rng.choice(self.addresses)}/inbox"
            async with http.get(url, params={"wait": "10", "after": after}) as reply:
                if reply.status != 200:
                    self._refused(reply.status)
                    return
                news = await reply.json()
            after = news["next"]
            for message in news["messages"]:
                self._take(message["request"], lambda response: self._deliver(http, response))

    async def _deliver(self, http: aiohttp.ClientSession, response: dict[str, Any]) -> None:
        async with asyncio.timeout(DELIVER_S):
            while True:
                with contextlib.suppress(*_BROKEN):
                    url, body = f"{self.rng.choice(self.addresses)}/inbox", {"responses": [response]}
                    async with http.post(url, json=body, timeout=aiohttp.ClientTimeout(total=TRY_S)) as reply:
                        if reply.status == 200:
                            return
                        self._refused(reply.status)
                await asyncio.sleep(BACK_AFTER_S)

    async def _socket(self, http: aiohttp.ClientSession) -> None:
        url = f"{self.rng.choice(self.addresses)}/ws/inbox"
        async with asyncio.timeout(TRY_S):
            line = await http.ws_connect(url)
        async with line:
            async for frame in line:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    self._take(frame.json(), line.send_json)
        if line.close_code in (4401, 4409):
            self._refused(line.close_code)

    def _refused(self, code: int) -> None:
        if code in (401, 409, 4401, 4409):
            self.odd.append(f"its line was ended with {code}, and it has no other")

    def _take(self, request: dict[str, Any], deliver: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        number, text = request["id"], json.dumps(request, sort_keys=True)
        if number not in self._answers:
            self._answers[number] = text, asyncio.create_task(self._answered(request))
        elif self._answers[number][0] != text:
            self.odd.append(f"the id {number} was used for two messages")
        task = asyncio.create_task(self._delivered(self._answers[number][1], deliver))
        self._delivering.add(task)
        task.add_done_callback(self._delivering.discard)

    async def _answered(self, request: dict[str, Any]) -> dict[str, Any]:
        return await self.answer(request) | {"id": request["id"]}

    async def _delivered(
        self, answering: asyncio.Task[dict[str, Any]], deliver: Callable[[dict[str, Any]], Awaitable[None]]
    ) -> None:
        response = await asyncio.shield(answering)
        # A socket that broke meanwhile is offered the message again when it is open again.
        with contextlib.suppress(*_BROKEN):
            await deliver(response)
