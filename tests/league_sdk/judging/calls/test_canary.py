"""The canary: which delays it notes, whom it blames, and what happens to a try that the referee's own delay spoiled."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

import pytest
import pytest_asyncio

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.judging.calls.canary import CALL_INTERVAL_S, MIN_LATENESS_S, Canary, Echo, allowed_s
from league_sdk.judging.match.side import MAX_EXCUSED_TRIES
from league_sdk.protocol import agents_time
from league_sdk.protocol.faults import Cause
from league_sdk.transport.client import NotReached
from tests.bots.hostile.base import MOVE, Behaviour, Call, Talk, message, result
from tests.league_sdk.judging.hostile_match import A, B, play
from tests.league_sdk.judging.scripted import SILENCE, ScriptedMatch, brief, choice
from tests.league_sdk.judging.scripted import Clock as ScriptedClock

LATE = "the referee itself was late for 2.0 s of 30 s: this try does not count"
SPOILED = CallResult(error_code="E001", problem=LATE, cause=Cause.DEADLINE, excuse=LATE, elapsed_s=30.0)


# -- which delays it notes --------------------------------------------------------------------------------


class Stage:
    """A clock that only the test moves, and a server that is as late as the test wants."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.sleepers: list[tuple[float, asyncio.Event]] = []
        self.takes_s = 0.0
        self.fails = False
        self.calls = 0

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        until = asyncio.Event()
        self.sleepers.append((self.now_s + seconds, until))
        await until.wait()

    async def call(self) -> None:
        self.calls += 1
        await self.sleep(self.takes_s)
        if self.fails:
            raise NotReached("nobody is there", connected=False)

    async def advance_to(self, at: float) -> None:
        """Let time go on, waking everybody when it is due."""
        while due := [one for one in self.sleepers if one[0] <= at]:
            first = min(due, key=lambda one: one[0])
            self.sleepers.remove(first)
            self.now_s = max(self.now_s, first[0])
            first[1].set()
            for _ in range(5):
                await asyncio.sleep(0)
        self.now_s = at

    async def pause_until(self, at: float) -> None:
        """Pause the process until then: all sleepers that were due wake at once, too late."""
        self.now_s = at
        due, self.sleepers = [one for one in self.sleepers if one[0] <= at], [o for o in self.sleepers if o[0] > at]
        for _, until in due:
            until.set()
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest_asyncio.fixture
async def canary(stage: Stage) -> AsyncIterator[Canary]:
    """A canary that watches."""
    made = Canary(stage, stage.call)  # type: ignore[arg-type]
    made.start()
    for _ in range(5):
        await asyncio.sleep(0)
    yield made
    await made.aclose()


async def test_a_canary_that_is_on_time_blames_nobody(stage: Stage, canary: Canary) -> None:
    await stage.advance_to(130.0)
    assert (canary.late_s(100.0, 130.0), canary.late_beyond_allowed_s(100.0, 0.2)) == (0, 0)
    assert stage.calls == pytest.approx(30 / CALL_INTERVAL_S, abs=2)


async def test_restarting_the_canary_makes_no_additional_calls(stage: Stage, canary: Canary) -> None:
    for tenth in range(1, 50):
        await stage.advance_to(100.0 + tenth / 10)
        canary.stop()
        canary.start()
    assert stage.calls == pytest.approx(5 / CALL_INTERVAL_S, abs=2)


@pytest.mark.parametrize(
    ("begin", "limit_s", "blamed"),
    [
        (110.0, 5.0, True),
        (110.0, 19.0, True),
        (110.0, 21.0, False),  # two seconds are less than a tenth
        (104.9, 5.0, False),  # over before it began
        (112.5, 5.0, False),  # begun when it was over
        (105.0, 5.5, False),  # half a second of it, and that is less than a tenth
        (109.0, 2.0, True),
    ],
)
async def test_a_canary_blames_us_for_a_pause_of_two_seconds(
    stage: Stage, canary: Canary, begin: float, limit_s: float, blamed: bool
) -> None:
    await stage.advance_to(110.0)
    await stage.pause_until(112.04)
    await stage.advance_to(140.0)
    assert canary.late_s(100.0, 140.0) == pytest.approx(2.0, abs=0.05)
    assert (canary.late_beyond_allowed_s(begin, limit_s) > 0) is blamed


async def test_time_spent_on_what_agents_send_is_no_delay(stage: Stage) -> None:
    """Otherwise agents that answer at length would never lose by silence."""
    spent_s = 0.0
    canary = Canary(stage, stage.call, lambda: spent_s)  # type: ignore[arg-type]
    canary.start()
    await stage.advance_to(110.0)
    spent_s = 1.97
    await stage.pause_until(112.04)
    await stage.advance_to(120.0)
    assert canary.late_s(100.0, 120.0) == 0.0
    # Of a longer pause the rest is ours.
    spent_s += 1.0
    await stage.pause_until(123.04)
    await stage.advance_to(140.0)
    assert canary.late_s(100.0, 140.0) == pytest.approx(2.0, abs=0.1)
    await canary.aclose()


def test_while_this_process_stands_still_no_agents_time_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this process is stopped in the middle of reading an answer, that is a delay of ours."""
    clock = {"monotonic": 5.0, "thread_time": 1.0}
    for name in clock:
        monkeypatch.setattr(agents_time.time, name, partial(clock.__getitem__, name))
    counted = agents_time.AgentsTime()

    @counted
    def read() -> None:
        clock["monotonic"] += 3.0
        clock["thread_time"] += 0.25

    read()
    read()
    assert counted.total_s == 0.5


async def test_a_late_answer_of_our_own_server_blames_us(stage: Stage, canary: Canary) -> None:
    """The loop runs and the network does not."""
    await stage.advance_to(110.0)
    stage.takes_s = 3.0
    await stage.advance_to(112.0)
    # The call has not come back yet, and is late already.
    assert canary.late_beyond_allowed_s(110.0, 2.0) > 1
    stage.takes_s = 0.0
    await stage.advance_to(120.0)
    assert canary.late_s(100.0, 120.0) == pytest.approx(3.0, abs=0.01)


async def test_a_canary_whose_calls_were_never_answered_proves_nothing(stage: Stage, canary: Canary) -> None:
    stage.takes_s, stage.fails = 3.0, True
    await stage.advance_to(120.0)
    assert canary.late_beyond_allowed_s(100.0, 20.0) == 0
    stage.fails = False
    await stage.advance_to(130.0)
    stage.fails = True
    await stage.advance_to(140.0)
    assert canary.late_beyond_allowed_s(130.0, 10.0) > 5


async def test_a_delay_counts_before_it_has_ended(stage: Stage, canary: Canary) -> None:
    await stage.advance_to(110.0)
    stage.now_s = 113.0
    assert canary.late_s(110.0, 113.0) == pytest.approx(3.0, abs=0.06)
    canary.stop()
    assert canary.late_s(110.0, 113.0) == 0


def test_a_canary_tolerates_a_minimum_of_lateness() -> None:
    assert (allowed_s(0.2), allowed_s(1.0), allowed_s(30.0)) == (MIN_LATENESS_S, MIN_LATENESS_S, 3.0)


async def test_the_real_canary_starts_stops_and_notices_a_pause() -> None:
    canary = Canary(Clock())
    for _ in range(2):
        canary.start()
        while not canary.was_answered:  # noqa: ASYNC110 - the canary has no event
            await asyncio.sleep(0)
        canary.stop()
    begun = time.monotonic()
    canary.start()
    await asyncio.sleep(0)
    time.sleep(0.2)  # noqa: ASYNC251 - blocks the loop on purpose
    assert canary.late_s(begun, time.monotonic()) > MIN_LATENESS_S
    await canary.aclose()


def test_silent_connections_do_not_block_the_canarys_server() -> None:
    echo = Echo()
    host, _, port = echo.url.removeprefix("http://").rstrip("/").partition(":")
    with contextlib.ExitStack() as opened:
        for _ in range(20):
            opened.enter_context(socket.create_connection((host, int(port))))
        own = opened.enter_context(socket.create_connection((host, int(port))))
        own.sendall(b"POST / HTTP/1.1\r\n\r\n{}")
        assert own.recv(4096).startswith(b"HTTP/1.1 200 OK")
        echo.close()


# -- tries that the referee's own delay spoiled -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_an_excused_try_is_repeated_without_game_error(kind: str) -> None:
    good = {"joins": CallResult(message={"accept": True}), "moves": choice("odd")}[kind]
    spoiled = replace(SPOILED, elapsed_s=5.0)
    scripted = ScriptedMatch(**{kind: {B: [spoiled] * MAX_EXCUSED_TRIES + [good]}}, brief=brief(max_retries=0))
    played = await scripted.play()
    assert (played.faults, scripted.to(B, "GAME_ERROR")) == ((), [])
    assert [entry["problem"] for entry in scripted.entries() if entry["problem"]] == [LATE] * MAX_EXCUSED_TRIES


async def test_an_excused_try_uses_up_neither_tries_nor_patience() -> None:
    tries = [SPOILED, SILENCE, SPOILED, SPOILED, SILENCE, SILENCE, SILENCE]
    scripted = ScriptedMatch(moves={B: tries}, brief=brief(request_patience_s=127, retry_base_s=1))
    played = await scripted.play()
    (fault,) = played.faults
    assert (fault.player_id, fault.error_code, fault.cause, fault.tries) == (B, "E001", Cause.DEADLINE, 4)
    assert [sent.limit_s for sent in scripted.to(B, "CHOOSE_PARITY_CALL")] == [30] * 7


async def test_an_answer_after_many_late_tries_counts() -> None:
    scripted = ScriptedMatch(
        moves={B: [SPOILED] * (MAX_EXCUSED_TRIES + 2) + [choice("odd")]}, brief=brief(max_retries=3)
    )
    assert (await scripted.play()).faults == ()


# -- whole matches over real sockets ----------------------------------------------------------------------


def standing_still(times: int, limit_s: float) -> Behaviour:
    """An agent that blocks our own process the first ``times`` times it is asked to move, until its time is over."""

    async def act(talk: Talk, call: Call) -> None:
        if talk.agent.methods.count(MOVE) <= times:
            time.sleep(2 * limit_s)  # noqa: ASYNC251 - the loop is the referee's, too
            await talk.stay_silent()
        await talk.say(result(call, message(call)))

    return Behaviour("stands still", "", act)


async def test_a_referee_that_was_late_asks_again_and_takes_no_point() -> None:
    ended = await play(standing_still(1, 0.4), move_timeout_s=0.4, max_retries=0)
    status, _, faults = ended.verdict
    assert (status in ("WIN", "DRAW"), faults, ended.hostile.methods.count(MOVE)) == (True, [], 2)
    assert "notify_game_error" not in ended.hostile.methods


async def test_a_referee_that_is_always_late_excuses_three_tries() -> None:
    ended = await play(standing_still(100, 0.2), move_timeout_s=0.2, max_retries=0)
    assert (ended.handed_back, ended.report["status"]) == ({}, "TECHNICAL_LOSS")
    assert {fault["cause"] for fault in ended.report["faults"]} == {"DEADLINE"}
    # Without retries, the first late try after the excused ones is a fault.
    late = [entry for entry in ended.entries if entry["problem"]]
    assert len(late) == MAX_EXCUSED_TRIES + len(ended.report["faults"])


async def test_an_agent_that_is_late_beside_a_punctual_canary_loses() -> None:
    async def silent(talk: Talk, call: Call) -> None:
        await talk.stay_silent()

    canary = Punctual(ScriptedClock())
    ended = await play(Behaviour("late", "", silent), move_timeout_s=0.4, max_retries=0, canary=canary)
    assert ended.verdict == ("TECHNICAL_LOSS", B, [(A, "E001", "DEADLINE", 1)])


class Punctual(Canary):
    """A canary that does not watch, and so was never late."""

    def start(self) -> None:
        return
