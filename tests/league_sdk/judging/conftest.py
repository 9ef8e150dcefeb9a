"""A referee without a network, and a line of one to players without one."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from league_sdk.judging import heartbeat, match_runner, player_line
from league_sdk.judging.canary import Canary
from league_sdk.judging.player_line import PlayerLine
from league_sdk.judging.referee import Referee
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.policy import EndpointPolicy
from tests.league_sdk.judging.line_agent import Agent, Answer, Meet
from tests.league_sdk.judging.scripted import Clock
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.starts import Link


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage()
    monkeypatch.setattr(match_runner, "play_match", made.play)
    for module in (heartbeat, match_runner):
        monkeypatch.setattr(module, "PROGRESS_EVERY_S", 0)
    return made


@pytest.fixture
def link() -> Link:
    return Link()


@pytest_asyncio.fixture
async def referee(link: Link, stage: Stage) -> AsyncIterator[Referee]:
    made = Referee(link, endpoint="http://localhost:8001/mcp", max_concurrent=2)  # type: ignore[arg-type]
    yield made
    link.on_progress = None
    await made.drain(0)
    await made.aclose()


@pytest.fixture
def meet(monkeypatch: pytest.MonkeyPatch) -> Meet:
    """A line to an agent that answers in this way."""

    def met(answer: Callable[[dict[str, Any]], Answer], seconds: float = 0.0) -> tuple[Agent, PlayerLine]:
        agent = Agent(clock := Clock(), answer, seconds)
        monkeypatch.setattr(player_line, "Client", lambda **_: agent)
        return agent, PlayerLine(EndpointPolicy(), clock, Breaker(clock.monotonic), Canary(clock))

    return met
