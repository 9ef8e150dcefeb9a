"""A referee whose port is flooded plays on: its heartbeats come in time, and its players are heard.

The flood comes from the players' own address, and asks for more than any budget has. It is bounded: a few seconds of a
match, and some tens of megabytes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from league_sdk.protocol import rpc
from tests.bots.hostile.base import JOIN, MOVE, Agent, Asked, Behaviour, Talk, message, post, result
from tests.e2e.lone_referee import LoneReferee, refereed

pytestmark = pytest.mark.e2e
LEASE_S = 4.0
BEATS = 3
"""Heartbeats that are waited for while the flood goes on; with nothing new there is one in a quarter of the lease."""
FLOODERS = 100
WHOLE_EVERY = 8
"""One request in so many sends its body; the others leave it out and wait."""
SLOW = 300
MOST_BYTES = 60 << 20
BIG = b" " * 65_536
"""As large as a body may be."""
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
RULES = {"move_timeout_s": 30, "join_timeout_s": 30, "max_retries": 0, "referee_lease_s": LEASE_S}
REFUSALS = 500
"""So many strangers are refused before the player answers: the flood is then over every budget."""


class Flood:
    """Strangers at a referee's port.

    Args:
        port: of the referee.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.said: Counter[str] = Counter()
        """How requests ended: by HTTP status, or ``closed``."""
        self.sent = 0
        self.refused = asyncio.Event()
        self._numbers = itertools.count()
        self._slow: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Open the slow connections, then send as much as is taken."""
        for _ in range(SLOW):
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(HEAD % len(BIG) + b"{")
            self._slow.append(writer)
        self._tasks = [asyncio.create_task(self._pour()) for _ in range(FLOODERS)]

    async def _pour(self) -> None:
        while self.sent < MOST_BYTES:
            self.said[await self._one()] += 1
            if self.said["429"] + self.said["closed"] >= REFUSALS:
                self.refused.set()

    async def _one(self) -> str:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return "closed"
        try:
            writer.write(HEAD % len(BIG))
            if next(self._numbers) % WHOLE_EVERY == 0:
                writer.write(BIG)
                self.sent += len(BIG)
            line = await reader.readline()
            return line.split(b" ")[1].decode() if line else "closed"
        except ConnectionError:
            return "closed"
        finally:
            writer.close()

    async def end(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._slow:
            writer.close()


class Late:
    """An agent that answers by POSTs of its own, and its move only when the flood is at its height."""

    def __init__(self) -> None:
        self.agent = Agent(Behaviour("late", "", self._act))
        self.flood: Flood | None = None
        self.referee: LoneReferee | None = None
        self.told: list[dict[str, Any]] = []
        self.endpoints: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def _act(self, talk: Talk, asked: Asked) -> None:
        if asked.method == MOVE:
            await talk.say(result(asked, {"status": "RECEIVED"}))
            task = asyncio.create_task(self._answer(asked))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            await talk.say(result(asked, message(asked)))

    async def _answer(self, asked: Asked) -> None:
        address = str(asked.params["referee_endpoint"])
        self.endpoints.append(address)
        port = urlsplit(address).port
        assert port is not None
        self.flood = Flood(port)
        await self.flood.begin()
        await self.flood.refused.wait()
        assert self.referee is not None
        league, match = self.referee.league, asked.params["match_id"]
        enough = len(league.beats[match]) + BEATS
        while len(league.beats[match]) < enough:
            league.changed.clear()
            await league.changed.wait()
        answer = await post(address, {"jsonrpc": "2.0", "id": 1, "method": "x", "params": message(asked)})
        self.told.append(json.loads(answer.partition(b"\r\n\r\n")[2]))


def door_of(referee: LoneReferee) -> int:
    """The process that listens for a referee."""
    pid = referee.referee.pid
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def environment_of(pid: int) -> str:
    """What a process was given, names and values."""
    return Path(f"/proc/{pid}/environ").read_text()


@asynccontextmanager
async def ending(pid: int) -> AsyncIterator[None]:
    """Wait at the end of this for the end of a process."""
    loop, ended, watched = asyncio.get_running_loop(), asyncio.Event(), os.pidfd_open(pid)
    loop.add_reader(watched, ended.set)
    try:
        yield
        await ended.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


async def test_a_flood_makes_no_heartbeat_late_and_keeps_no_player_waiting(tmp_path: Path) -> None:
    late, other, last = Late(), Agent(), Agent()
    first, second, third = await late.agent.start(), await other.start(), await last.start()
    try:
        async with refereed(tmp_path / "referee.log") as referee:
            late.referee = referee
            match = await referee.play(first, second, **RULES)
            report, beats = referee.league.results[match], referee.league.beats[match]
            assert late.flood is not None
            await late.flood.end()
            said = late.flood.said
            # It is the same for the next one, and everybody is let in again.
            again = await referee.play(second, third, **RULES)
    finally:
        if late.flood is not None:
            await late.flood.end()
        await late.agent.stop()
        await other.stop()
        await last.stop()
    assert (report["status"] in ("WIN", "DRAW"), report["faults"]) == (True, [])
    assert (referee.league.reports.count(match), referee.league.given_back) == (1, [])
    assert again in referee.league.results
    # The lease is renewed by a heartbeat; without one for so long the match would be another referee's.
    assert max((later - earlier for earlier, later in itertools.pairwise(beats)), default=0.0) < LEASE_S
    (told,) = late.told
    assert "error" not in told, told
    assert said["429"] + said["closed"] >= REFUSALS


async def test_a_door_that_ends_is_started_again_and_none_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_REFEREE_KEY", "SECRET-OF-THE-SITE")
    first, second = Agent(), Agent()
    urls = await first.start(), await second.start()
    try:
        async with refereed(tmp_path / "referee.log") as referee:
            await referee.play(*urls, **RULES)
            before = door_of(referee)
            told = environment_of(before)
            # A signal to the whole group, as a terminal sends it, is left to the judging process.
            os.kill(before, signal.SIGTERM)
            await referee.play(*urls, **RULES)
            kept = door_of(referee)
            async with ending(before):
                os.kill(before, signal.SIGKILL)
            # Nobody is turned away meanwhile: who calls waits in line until another door is there.
            await referee.play(*urls, **RULES)
            after = door_of(referee)
            async with ending(after):
                # It is told nothing: it sees that the line has ended.
                referee.referee.kill()
    finally:
        await first.stop()
        await second.stop()
    assert before == kept != after
    assert "SECRET-OF-THE-SITE" not in told


async def test_a_start_whose_sender_has_hung_up_while_judging_stood_still_is_not_taken(tmp_path: Path) -> None:
    first, second = Agent(), Agent()
    urls = await first.start(), await second.start()
    try:
        async with refereed(tmp_path / "referee.log") as referee:
            # A door that is there takes it from its sender.
            await referee.play(*urls, **RULES)
            lost = rpc.dumps(rpc.call("start_match", referee.start_of("R1M99", *urls, **RULES), 1))
            _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(referee.league.endpoint).port)
            referee.referee.send_signal(signal.SIGSTOP)
            writer.write(HEAD % len(lost) + lost)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            referee.referee.send_signal(signal.SIGCONT)
            # Given later, hence taken later.
            await referee.play(*urls, **RULES)
    finally:
        await first.stop()
        await second.stop()
    assert "R1M99" not in referee.league.beats
    assert sorted(referee.league.results) == ["R1M1", "R1M2"]


async def test_both_players_have_paths_that_nobody_can_guess_and_the_old_one_still_works(tmp_path: Path) -> None:
    paths: list[str] = []

    async def join(talk: Talk, asked: Asked) -> None:
        """Answers by a POST of its own to the address that the referee registered with, as real agents do."""
        paths.append(urlsplit(asked.params["referee_endpoint"]).path)
        await talk.say(result(asked, {"status": "RECEIVED"}))
        endpoint = referee.league.endpoint
        await post(endpoint, {"jsonrpc": "2.0", "id": 1, "method": "GAME_JOIN_ACK", "params": message(asked)})

    first, second = Agent(Behaviour("joins", "", join, JOIN)), Agent(Behaviour("joins", "", join, JOIN))
    urls = await first.start(), await second.start()
    try:
        async with refereed(tmp_path / "referee.log") as referee:
            match = await referee.play(*urls, **RULES)
    finally:
        await first.stop()
        await second.stop()
    report = referee.league.results[match]
    assert (report["status"] in ("WIN", "DRAW"), report["faults"]) == (True, [])
    assert len(set(paths)) == 2
    assert all(re.fullmatch(r"/mcp/tok_[0-9a-f]{32}", path) for path in paths)
    # The transcript is shown to everybody.
    told = json.dumps([report, referee.league.transcript])
    assert "referee_endpoint" in told
    assert not any(path.rpartition("/")[2] in told for path in paths)
