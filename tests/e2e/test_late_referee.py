"""A referee process that is stopped in mid-match and goes on when the time is over takes nobody's point."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.bots.hostile.base import MOVE, Agent, Asked, Behaviour, Talk, message, result
from tests.e2e.lone_referee import LoneReferee, refereed

pytestmark = pytest.mark.e2e
RULES = {"join_timeout_s": 20, "move_timeout_s": 1, "max_retries": 0, "referee_lease_s": 60}


class Stopping:
    """An agent that stops the referee when it is first asked to move, until the time for it is over."""

    def __init__(self, *, answers_meanwhile: bool) -> None:
        self.referee: LoneReferee | None = None
        self._answers_meanwhile = answers_meanwhile
        self._first = True
        self.agent = Agent(Behaviour("stops", "", self._act))

    async def _act(self, talk: Talk, asked: Asked) -> None:
        if asked.method != MOVE or not self._first or self.referee is None:
            await talk.say(result(asked, message(asked)))
            return
        self._first = False
        pid = self.referee.referee.pid
        os.kill(pid, signal.SIGSTOP)
        begun = time.monotonic()
        try:
            if self._answers_meanwhile:
                # In time, and nobody is there to read it.
                await talk.say(result(asked, message(asked)))
            over = begun + 2 * RULES["move_timeout_s"]
            # What is to be over is the other process's time, and nothing else tells that it is.
            await asyncio.sleep(over - time.monotonic())
        finally:
            os.kill(pid, signal.SIGCONT)
        if not self._answers_meanwhile:
            await talk.never()


async def played(stopping: Stopping | None, agent: Agent, log: Path) -> tuple[str, list[object], int]:
    """Status and faults of one match against an agent that behaves, and how often it was asked to move."""
    other = Agent()
    first, second = await agent.start(), await other.start()
    try:
        async with refereed(log) as referee:
            if stopping is not None:
                stopping.referee = referee
            match = await referee.play(first, second, **RULES)
            report = referee.league.results[match]
            return report["status"], report["faults"], agent.heard.count(MOVE)
    finally:
        await agent.stop()
        await other.stop()


@pytest.mark.parametrize(("answers_meanwhile", "asked"), [(True, 1), (False, 2)])
async def test_a_stopped_referee_reads_what_came_and_asks_again(
    tmp_path: Path, answers_meanwhile: bool, asked: int
) -> None:
    stopping = Stopping(answers_meanwhile=answers_meanwhile)
    status, faults, times = await played(stopping, stopping.agent, tmp_path / "referee.log")
    assert (status in ("WIN", "DRAW"), faults, times) == (True, [], asked)


async def test_the_same_agent_loses_when_nobody_was_stopped(tmp_path: Path) -> None:
    async def silent(talk: Talk, asked: Asked) -> None:
        await talk.never()

    status, faults, _ = await played(None, Agent(Behaviour("silent", "", silent)), tmp_path / "referee.log")
    assert status == "TECHNICAL_LOSS"
    assert [(fault["player_id"], fault["error_code"], fault["cause"]) for fault in faults] == [  # type: ignore[index]
        ("P01", "E001", "DEADLINE")
    ]
