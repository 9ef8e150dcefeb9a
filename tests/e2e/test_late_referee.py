"""A referee process that was stopped (SIGSTOP) past a player's deadline costs the player no point."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.bots.hostile.base import MOVE, Agent, Behaviour, Call, Talk, message, result
from tests.e2e.lone_referee import LoneReferee, refereed

pytestmark = [pytest.mark.e2e, pytest.mark.long]
RULES = {"join_timeout_s": 20, "move_timeout_s": 1, "max_retries": 0, "referee_lease_s": 60}


class RefereeStopper:
    """An agent that stops the referee when it is first asked to move, until the deadline for the move is over."""

    def __init__(self, *, answers_meanwhile: bool) -> None:
        self.referee: LoneReferee | None = None
        self._answers_meanwhile = answers_meanwhile
        self._first = True
        self.agent = Agent(Behaviour("stops", "", self._act))

    async def _act(self, talk: Talk, call: Call) -> None:
        if call.method != MOVE or not self._first or self.referee is None:
            await talk.say(result(call, message(call)))
            return
        self._first = False
        pid = self.referee.referee.pid
        os.kill(pid, signal.SIGSTOP)
        begun = time.monotonic()
        try:
            if self._answers_meanwhile:
                # The answer is sent in time, but the stopped referee cannot read it yet.
                await talk.say(result(call, message(call)))
            wake_at = begun + 2 * RULES["move_timeout_s"]
            # A deadline of the stopped process has to pass, and no event tells this process that it has.
            await asyncio.sleep(wake_at - time.monotonic())
        finally:
            os.kill(pid, signal.SIGCONT)
        if not self._answers_meanwhile:
            await talk.stay_silent()


async def play(stopper: RefereeStopper | None, agent: Agent, log: Path) -> tuple[str, list[object], int]:
    """Play ``agent`` against a good one; returns status, faults, and how often ``agent`` was asked to move."""
    other = Agent()
    first, second = await agent.start(), await other.start()
    try:
        async with refereed(log) as referee:
            if stopper is not None:
                stopper.referee = referee
            match = await referee.play(first, second, **RULES)
            report = referee.league.results[match]
            return report["status"], report["faults"], agent.methods.count(MOVE)
    finally:
        await agent.stop()
        await other.stop()


@pytest.mark.parametrize(("answers_meanwhile", "calls"), [(True, 1), (False, 2)])
async def test_a_stopped_referee_reads_an_answer_that_came_in_time_or_asks_again(
    tmp_path: Path, answers_meanwhile: bool, calls: int
) -> None:
    stopper = RefereeStopper(answers_meanwhile=answers_meanwhile)
    status, faults, times = await play(stopper, stopper.agent, tmp_path / "referee.log")
    assert (status in ("WIN", "DRAW"), faults, times) == (True, [], calls)


async def test_an_agent_that_never_answers_a_running_referee_loses(tmp_path: Path) -> None:
    async def silent(talk: Talk, call: Call) -> None:
        await talk.stay_silent()

    status, faults, _ = await play(None, Agent(Behaviour("silent", "", silent)), tmp_path / "referee.log")
    assert status == "TECHNICAL_LOSS"
    assert [(fault["player_id"], fault["error_code"], fault["cause"]) for fault in faults] == [  # type: ignore[index]
        ("P01", "E001", "DEADLINE")
    ]
