"""The canary: what it keeps, whom it blames, and what becomes of a deadline that was ours."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from dataclasses import replace

import pytest

from league_sdk.judging.asking import MAX_EXCUSED_TRIES
from league_sdk.judging.canary import CALL_EVERY_S, LEAST_S, Canary, Echo, allowed_s
from league_sdk.judging.clock import SystemClock
from league_sdk.judging.heard import Heard
from league_sdk.protocol.faults import Cause
from league_sdk.transport.client import NotReached
from league_sdk.transport.limit import within
from tests.bots.hostile.base import MOVE, Asked, Behaviour, Talk, message, result
from tests.league_sdk.judging.hostile_match import A, B, play
from tests.league_sdk.judging.scripted import SILENCE, Clock, Table, brief, choice

LATE = "the referee itself was late for 2.0 s of 30 s: this try does not count"
SPOILED = Heard(error_code="E001", problem=LATE, cause=Cause.DEADLINE, excuse=LATE, elapsed_s=30.0)


# -- what it keeps ----------------------------------------------------------------------------------------


class Stage:
    """Time that stands still unless somebody moves it, and a server that is as late as it is told."""

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

    async def to(self, at: float) -> None:
        """Let time go on, waking everybody when it is due."""
        while due := [one for one in self.sleepers if one[0] <= at]:
            first = min(due, key=lambda one: one[0])
            self.sleepers.remove(first)
            self.now_s = max(self.now_s, first[0])
            first[1].set()
            for _ in range(5):
                await asyncio.sleep(0)
        self.now_s = at

    async def jump(self, at: float) -> None:
        """The process stands still until then: everybody who was due wakes at once, late."""
        self.now_s = at
        due, self.sleepers = [one for one in self.sleepers if one[0] <= at], [o for o in self.sleepers if o[0] > at]
        for _, until in due:
            until.set()
        for _ in range(5):
            await asyncio.sleep(0)


async def singing(stage: Stage) -> Canary:
    canary = Canary(stage, stage.call)  # type: ignore[arg-type]
    canary.sing()
    for _ in range(5):
        await asyncio.sleep(0)
    return canary


async def test_on_time_it_blames_nobody() -> None:
    stage = Stage()
    canary = await singing(stage)
    await stage.to(130.0)
    assert (canary.late_s(100.0, 130.0), canary.blames_us(100.0, 0.2)) == (0, 0)
    assert stage.calls == pytest.approx(30 / CALL_EVERY_S, abs=2)
    await canary.aclose()


async def test_short_matches_bring_no_more_calls_than_long_ones() -> None:
    stage = Stage()
    canary = await singing(stage)
    for tenth in range(1, 50):
        await stage.to(100.0 + tenth / 10)
        canary.rest()
        canary.sing()
    assert stage.calls == pytest.approx(5 / CALL_EVERY_S, abs=2)
    await canary.aclose()


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
async def test_a_process_that_stood_still_for_two_seconds(begin: float, limit_s: float, blamed: bool) -> None:
    stage = Stage()
    canary = await singing(stage)
    await stage.to(110.0)
    await stage.jump(112.04)
    await stage.to(140.0)
    assert canary.late_s(100.0, 140.0) == pytest.approx(2.0, abs=0.05)
    assert (canary.blames_us(begin, limit_s) > 0) is blamed
    await canary.aclose()


async def test_a_server_of_our_own_that_is_late_is_enough() -> None:
    """The loop runs and the network does not."""
    stage = Stage()
    canary = await singing(stage)
    await stage.to(110.0)
    stage.takes_s = 3.0
    await stage.to(112.0)
    # It has not come back yet, and is late already.
    assert canary.blames_us(110.0, 2.0) > 1
    stage.takes_s = 0.0
    await stage.to(120.0)
    assert canary.late_s(100.0, 120.0) == pytest.approx(3.0, abs=0.01)
    await canary.aclose()


async def test_a_canary_that_was_never_heard_proves_nothing() -> None:
    stage = Stage()
    stage.takes_s, stage.fails = 3.0, True
    canary = await singing(stage)
    await stage.to(120.0)
    assert canary.blames_us(100.0, 20.0) == 0
    stage.fails = False
    await stage.to(130.0)
    stage.fails = True
    await stage.to(140.0)
    assert canary.blames_us(130.0, 10.0) > 5
    await canary.aclose()


async def test_what_is_late_at_this_moment_counts_before_anybody_has_woken() -> None:
    stage = Stage()
    canary = await singing(stage)
    await stage.to(110.0)
    stage.now_s = 113.0
    assert canary.late_s(110.0, 113.0) == pytest.approx(3.0, abs=0.06)
    canary.rest()
    assert canary.late_s(110.0, 113.0) == 0
    await canary.aclose()


async def test_a_little_is_always_allowed() -> None:
    assert (allowed_s(0.2), allowed_s(1.0), allowed_s(30.0)) == (LEAST_S, LEAST_S, 3.0)


async def test_the_real_one_calls_its_own_server_and_leaves_nothing_behind() -> None:
    canary = Canary(SystemClock())
    for _ in range(2):
        canary.sing()
        while not canary.heard:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
        canary.rest()
    begun = time.monotonic()
    canary.sing()
    await asyncio.sleep(0)
    time.sleep(0.2)  # noqa: ASYNC251 - the loop stands still
    assert canary.late_s(begun, time.monotonic()) > LEAST_S
    await canary.aclose()


def test_others_may_call_its_server_and_say_nothing() -> None:
    echo = Echo()
    host, _, port = echo.url.removeprefix("http://").rstrip("/").partition(":")
    with contextlib.ExitStack() as opened:
        for _ in range(20):
            opened.enter_context(socket.create_connection((host, int(port))))
        own = opened.enter_context(socket.create_connection((host, int(port))))
        own.sendall(b"POST / HTTP/1.1\r\n\r\n{}")
        assert own.recv(4096).startswith(b"HTTP/1.1 200 OK")
        echo.close()


# -- what becomes of a deadline that was ours -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_a_spoiled_try_is_made_once_more_as_if_it_had_not_been(kind: str) -> None:
    good = {"joins": Heard(message={"accept": True}), "moves": choice("odd")}[kind]
    spoiled = replace(SPOILED, elapsed_s=5.0)
    table = Table(**{kind: {B: [spoiled] * MAX_EXCUSED_TRIES + [good]}}, brief=brief(max_retries=0))
    played = await table.play()
    assert (played.faults, table.to(B, "GAME_ERROR")) == ((), [])
    assert [entry["problem"] for entry in table.entries() if entry["problem"]] == [LATE] * MAX_EXCUSED_TRIES


async def test_it_takes_neither_tries_nor_patience() -> None:
    tries = [SPOILED, SILENCE, SPOILED, SPOILED, SILENCE, SILENCE, SILENCE]
    table = Table(moves={B: tries}, brief=brief(request_patience_s=127, retry_base_s=1))
    played = await table.play()
    (fault,) = played.faults
    assert (fault.player_id, fault.error_code, fault.cause, fault.tries) == (B, "E001", Cause.DEADLINE, 4)
    assert [sent.limit_s for sent in table.to(B, "CHOOSE_PARITY_CALL")] == [30] * 7


async def test_more_than_can_be_made_up_for_counts() -> None:
    """Else a flood that makes the referee late would have the match played again for ever."""
    table = Table(moves={B: [SPOILED] * (MAX_EXCUSED_TRIES + 1)}, brief=brief(max_retries=0))
    played = await table.play()
    assert (played.winner, [fault.cause for fault in played.faults]) == (A, [Cause.DEADLINE])
    assert table.log.excused[-1]["counted"] == "yes"


async def test_an_answer_saves_the_match_however_late_we_were() -> None:
    table = Table(moves={B: [SPOILED] * (MAX_EXCUSED_TRIES + 2) + [choice("odd")]}, brief=brief(max_retries=3))
    assert (await table.play()).faults == ()


# -- whole, on real sockets -------------------------------------------------------------------------------


def standing_still(times: int, limit_s: float) -> Behaviour:
    """An agent in our own process: each time it is asked to move, everything stands still until its time is over."""

    async def act(talk: Talk, asked: Asked) -> None:
        if talk.agent.heard.count(MOVE) <= times:
            time.sleep(2 * limit_s)  # noqa: ASYNC251 - the loop is the referee's, too
            await talk.never()
        await talk.say(result(asked, message(asked)))

    return Behaviour("stands still", "", act)


async def test_a_referee_that_stood_still_asks_again_and_takes_no_point() -> None:
    ended = await play(standing_still(1, 0.4), move_timeout_s=0.4, max_retries=0)
    status, _, faults = ended.verdict
    assert (status in ("WIN", "DRAW"), faults, ended.hostile.heard.count(MOVE)) == (True, [], 2)
    assert "notify_game_error" not in ended.hostile.heard


async def test_a_referee_that_stands_still_again_and_again_excuses_three_tries() -> None:
    ended = await play(standing_still(100, 0.2), move_timeout_s=0.2, max_retries=0)
    assert (ended.given_back, ended.report["status"]) == ({}, "TECHNICAL_LOSS")
    assert {fault["cause"] for fault in ended.report["faults"]} == {"DEADLINE"}


async def test_an_agent_that_is_late_beside_a_punctual_canary_loses() -> None:
    async def silent(talk: Talk, asked: Asked) -> None:
        await talk.never()

    clock = Clock()
    ended = await play(Behaviour("late", "", silent), move_timeout_s=0.4, max_retries=0, canary=Punctual(clock))
    assert ended.verdict == ("TECHNICAL_LOSS", B, [(A, "E001", "DEADLINE", 1)])


class Punctual(Canary):
    """On a clock that does not move it was never late."""

    def sing(self) -> None:
        return


async def test_an_answer_that_came_in_time_and_was_read_late_is_taken() -> None:
    """It lies in the socket while this process stands still."""

    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    loop = asyncio.get_running_loop()
    # Readable, unread, and already too late when the loop goes on.
    loop.call_later(0.05, lambda: (theirs.sendall(b"in time"), time.sleep(0.3)))
    async with within(0.1):
        assert await reader.read(7) == b"in time"
    with pytest.raises(TimeoutError):
        async with within(0.01):
            await reader.read(7)
    writer.close()
    await writer.wait_closed()
    theirs.close()


async def test_a_limit_that_is_kept_gives_nothing() -> None:
    never = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with within(0.01):
            await never.wait()
