"""Instead of a player's HTTP server: an agent in the process, at the other end of a referee's line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from league_sdk.judging.player_line import PlayerLine
from league_sdk.transport.client import CallFailed, Reply
from tests.league_sdk.judging.scripted import Clock, seat

INVITATION = {"message_type": "GAME_INVITATION", "match_id": "R1M1"}
CALL = {"message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1"}
P01 = seat("P01", "PLAYER_A")
Answer = Reply | CallFailed


def said(status: int, body: Any, problem: str = "") -> Reply:
    return Reply(status, body, problem, 0.5)


def ok(result: Any) -> Reply:
    return said(200, {"jsonrpc": "2.0", "id": 1, "result": result})


UNKNOWN = said(200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}})


class Agent:
    """Instead of the HTTP client: an agent that takes ``seconds`` for each answer."""

    def __init__(self, clock: Clock, answer: Callable[[dict[str, Any]], Answer], seconds: float = 0.0) -> None:
        self.clock, self.answer, self.seconds = clock, answer, seconds
        self.heard: list[str] = []
        self.limits: list[float] = []
        self.ended: list[str] = []
        self.called = asyncio.Event()

    async def post(self, url: str, body: dict[str, Any], *, limit_s: float, headers: None = None) -> Reply:
        self.heard.append(body.get("method", "flat"))
        self.limits.append(round(limit_s, 6))
        self.called.set()
        try:
            await self.clock.sleep(self.seconds)
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        answer = self.answer(body)
        if isinstance(answer, CallFailed):
            raise answer
        return answer

    async def aclose(self) -> None:
        self.heard.append("closed")


Meet = Callable[..., tuple[Agent, PlayerLine]]
