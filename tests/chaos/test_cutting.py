"""A player that dials out delivers its answer wherever its connections are cut, and each cut is recorded."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import pytest
from aiohttp import web

from tests.bots.base import listening
from tests.chaos import plan
from tests.chaos.cutting import Cutter
from tests.chaos.lines import POLL, SOCKET, Line

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "choose_parity", "params": {}}
CUTS = 3
"""How many connections are cut: the first three."""


class Inbox:
    """The inbox of a site for one agent, with one message in it."""

    def __init__(self) -> None:
        self.delivered: list[Any] = []
        self.answered = asyncio.Event()

    def take(self, response: Any) -> None:
        self.delivered.append(response)
        self.answered.set()

    async def poll(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            self.take((await request.json())["responses"][0])
            return web.json_response({"accepted": 1, "not_awaited": []})
        player_has_it = request.query["after"] == "7"
        if player_has_it:
            await self.answered.wait()
        return web.json_response({"messages": [] if player_has_it else [{"request": REQUEST}], "next": "7"})

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        await line.send_json(REQUEST)
        async for frame in line:
            self.take(frame.json())
        return line


@pytest.mark.parametrize("way", [POLL, SOCKET])
@pytest.mark.parametrize("point", plan.LINE_POINTS)
async def test_an_answer_arrives_wherever_connections_are_cut(way: str, point: str) -> None:
    def cut_of(seed: int, number: int) -> plan.Fault:
        return plan.Fault(plan.CUT, point, 1 if number < CUTS else 10**6)

    inbox, points, requests = Inbox(), list[str](), list[Any]()

    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        requests.append(request)
        return {"jsonrpc": "2.0", "result": "even"}

    async with listening({"/inbox": inbox.poll, "/ws/inbox": inbox.socket}) as site:
        cutter = Cutter(site, 1, itertools.count(), points.append, cut_of=cut_of)
        cutter.cuts = True
        await cutter.open()
        line = Line(way, "tok", [cutter.address], random.Random(1), answer)
        keeping = asyncio.create_task(line.keep())
        try:
            async with asyncio.timeout(30):
                await inbox.answered.wait()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await cutter.close()
    assert set(points) == {point}
    # The player was asked once, however often the message was offered; its answer may have been delivered twice.
    assert requests == [REQUEST]
    assert {str(one) for one in inbox.delivered} == {str({"jsonrpc": "2.0", "result": "even", "id": 7})}
    assert line.odd == []


async def test_no_connection_is_cut_while_faults_are_off() -> None:
    def cut_of(seed: int, number: int) -> plan.Fault:
        return plan.Fault(plan.CUT, plan.MESSAGE_ON_ITS_WAY, 1)

    inbox, points = Inbox(), list[str]()

    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "result": "odd"}

    async with listening({"/inbox": inbox.poll}) as site:
        cutter = Cutter(site, 1, itertools.count(), points.append, cut_of=cut_of)
        await cutter.open()
        keeping = asyncio.create_task(Line(POLL, "tok", [cutter.address], random.Random(1), answer).keep())
        try:
            async with asyncio.timeout(30):
                await inbox.answered.wait()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await cutter.close()
    assert points == []
