"""An agent inside the test's process, which a referee calls in place of a player's HTTP server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.judging.calls.canary import Canary
from league_sdk.judging.calls.player_caller import PlayerCaller
from league_sdk.judging.match.brief import Seat
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import CallFailed, Reply
from league_sdk.transport.policy import EndpointPolicy
from tests.league_sdk.judging.scripted import Clock, seat

INVITATION = {"message_type": "GAME_INVITATION", "match_id": "R1M1"}
CALL = {"message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1"}
P01, P02 = seat("P01", "PLAYER_A"), seat("P02", "PLAYER_B")
Answer = Reply | CallFailed


def reply(status: int, body: Any, problem: str = "") -> Reply:
    return Reply(status, body, problem, 0.5)


def ok(result: Any) -> Reply:
    return reply(200, {"jsonrpc": "2.0", "id": 1, "result": result})


UNKNOWN = reply(200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}})


def in_turn(*answers: Answer) -> Callable[[dict[str, Any]], Answer]:
    """Give these answers one after the other, and then the last one for ever."""
    remaining = list(answers)
    return lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]


class Agent:
    """Replaces the HTTP client by an agent that takes ``seconds`` for each answer."""

    def __init__(self, answer: Callable[[dict[str, Any]], Answer], seconds: float = 0.0) -> None:
        self.clock, self.answer, self.seconds = Clock(), answer, seconds
        self.methods: list[str] = []
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.limits: list[float] = []
        self.ended: list[str] = []
        self.deleted: list[tuple[str, str]] = []
        self.called = asyncio.Event()

    async def post(
        self, url: str, body: dict[str, Any], *, limit_s: float, headers: dict[str, str] | None = None
    ) -> Reply:
        self.posted.append((url, body))
        self.headers = headers or {}
        self.methods.append(body.get("method", "flat"))
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

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> None:
        self.deleted.append((url, headers["mcp-session-id"]))

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def caller_of(agent: Agent, network_problem: str = "") -> PlayerCaller:
    """A referee's caller of an agent; ``network_problem`` is what its machine finds wrong with its own network."""
    clock = agent.clock
    return PlayerCaller(
        EndpointPolicy(),
        clock,
        Breaker(clock.monotonic),
        Canary(clock),
        probe=lambda: network_problem,
        client=agent,  # type: ignore[arg-type]
    )


def meet(answer: Callable[[dict[str, Any]], Answer], seconds: float = 0.0) -> tuple[Agent, PlayerCaller]:
    """An agent that answers in this way, and a caller of it."""
    agent = Agent(answer, seconds)
    return agent, caller_of(agent)


async def ask(
    caller: PlayerCaller, message: dict[str, Any], limit_s: float = 5.0, *, seat: Seat = P01, **more: Any
) -> CallResult:
    """Ask a player under a league's usual settings."""
    call, _tell = caller.for_match(LeagueSettings(), "parity_choice")
    return await call(seat, message, limit_s=limit_s, **more)
