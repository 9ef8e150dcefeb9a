"""A referee whose port is flooded plays on: it sends its heartbeats in time, and takes its players' answers.

The flood comes from the players' own address, and exceeds every budget of the door. It is bounded: a few seconds of a
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
from tests.bots.hostile.base import JOIN, MOVE, Agent, Behaviour, Call, Talk, message, post, result
from tests.e2e.lone_referee import LoneReferee, refereed

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEASE_S = 4.0
HEARTBEATS = 3
"""How many heartbeats the test waits for during the flood; without news a referee sends four in a lease."""
FLOODERS = 100
BODY_EVERY = 8
"""One in eight requests sends its body; the others announce one and do not send it."""
SLOW_CONNECTIONS = 300
MAX_BYTES = 60 << 20
LARGEST_BODY = b" " * 65_536
"""A body of the largest size that is allowed."""
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
RULES = {"move_timeout_s": 30, "join_timeout_s": 30, "max_retries": 0, "referee_lease_s": LEASE_S}
REFUSALS = 500
"""How many requests end with 429 or a closed connection before the player answers: by then every budget is exceeded."""


class Flood:
    """Many connections of strangers to a referee's port.

    Args:
        port: the referee's port.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.outcomes: Counter[str] = Counter()
        """How requests ended: by HTTP status, or ``closed``."""
        self.sent = 0
        self.refused = asyncio.Event()
        self._numbers = itertools.count()
        self._slow: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Open the slow connections, then send requests from many tasks until MAX_BYTES are sent."""
        for _ in range(SLOW_CONNECTIONS):
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(HEAD % len(LARGEST_BODY) + b"{")
            self._slow.append(writer)
        self._tasks = [asyncio.create_task(self._keep_sending()) for _ in range(FLOODERS)]

    async def _keep_sending(self) -> None:
        while self.sent < MAX_BYTES:
            self.outcomes[await self._send_request()] += 1
            if self.outcomes["429"] + self.outcomes["closed"] >= REFUSALS:
                self.refused.set()

    async def _send_request(self) -> str:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return "closed"
        try:
            writer.write(HEAD % len(LARGEST_BODY))
            if next(self._numbers) % BODY_EVERY == 0:
                writer.write(LARGEST_BODY)
                self.sent += len(LARGEST_BODY)
            line = await reader.readline()
            return line.split(b" ")[1].decode() if line else "closed"
        except ConnectionError:
            return "closed"
        finally:
            writer.close()

    async def end(self) -> None:
        """Stop sending, and close the connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._slow:
            writer.close()


class LatePlayer:
    """An agent that sends its move by a POST of its own, and only when the flood exceeds every budget."""

    def __init__(self) -> None:
        self.agent = Agent(Behaviour("late", "", self._act))
        self.flood: Flood | None = None
        self.referee: LoneReferee | None = None
        self.answers: list[dict[str, Any]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def _act(self, talk: Talk, call: Call) -> None:
        if call.method == MOVE:
            await talk.say(result(call, {"status": "RECEIVED"}))
            task = asyncio.create_task(self._answer(call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            await talk.say(result(call, message(call)))

    async def _answer(self, call: Call) -> None:
        address = str(call.params["referee_endpoint"])
        port = urlsplit(address).port
        assert port is not None
        self.flood = Flood(port)
        await self.flood.begin()
        await self.flood.refused.wait()
        assert self.referee is not None
        league, match = self.referee.league, call.params["match_id"]
        enough = len(league.heartbeats[match]) + HEARTBEATS
        while len(league.heartbeats[match]) < enough:
            league.changed.clear()
            await league.changed.wait()
        answer = await post(address, {"jsonrpc": "2.0", "id": 1, "method": "x", "params": message(call)})
        self.answers.append(json.loads(answer.partition(b"\r\n\r\n")[2]))


def door_of(referee: LoneReferee) -> int:
    """The process that listens for a referee."""
    pid = referee.referee.pid
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def environment_of(pid: int) -> str:
    """The environment of a process, names and values."""
    return Path(f"/proc/{pid}/environ").read_text()


@asynccontextmanager
async def ending(pid: int) -> AsyncIterator[None]:
    """At the end of the block, wait until a process has ended."""
    loop, ended, watched = asyncio.get_running_loop(), asyncio.Event(), os.pidfd_open(pid)
    loop.add_reader(watched, ended.set)
    try:
        yield
        await ended.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


async def test_a_flood_makes_no_heartbeat_late_and_no_answer_refused(tmp_path: Path) -> None:
    late_player, other, third_agent = LatePlayer(), Agent(), Agent()
    first, second, third = await late_player.agent.start(), await other.start(), await third_agent.start()
    try:
        async with refereed(tmp_path / "referee.log") as referee:
            late_player.referee = referee
            match = await referee.play(first, second, **RULES)
            report, heartbeats = referee.league.results[match], referee.league.heartbeats[match]
            assert late_player.flood is not None
            await late_player.flood.end()
            outcomes = late_player.flood.outcomes
            # After the flood the referee plays the next match as usual.
            next_match = await referee.play(second, third, **RULES)
    finally:
        if late_player.flood is not None:
            await late_player.flood.end()
        await late_player.agent.stop()
        await other.stop()
        await third_agent.stop()
    assert (report["status"] in ("WIN", "DRAW"), report["faults"]) == (True, [])
    assert (referee.league.reports.count(match), referee.league.handed_back) == (1, [])
    assert next_match in referee.league.results
    # A heartbeat renews the lease; after a longer gap the match would go to another referee.
    assert max((later - earlier for earlier, later in itertools.pairwise(heartbeats)), default=0.0) < LEASE_S
    (answer,) = late_player.answers
    assert "error" not in answer, answer
    assert outcomes["429"] + outcomes["closed"] >= REFUSALS


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
            environment = environment_of(before)
            # The door ignores SIGTERM: a signal to the whole process group is for the judging process.
            os.kill(before, signal.SIGTERM)
            await referee.play(*urls, **RULES)
            unchanged = door_of(referee)
            async with ending(before):
                os.kill(before, signal.SIGKILL)
            # No caller is refused until the next door listens: calls wait.
            await referee.play(*urls, **RULES)
            after = door_of(referee)
            async with ending(after):
                # Nobody tells the door to end: it sees that its connection to the judging process is closed.
                referee.referee.kill()
    finally:
        await first.stop()
        await second.stop()
    assert before == unchanged != after
    assert "SECRET-OF-THE-SITE" not in environment


async def test_a_stopped_referee_does_not_play_a_match_whose_sender_has_hung_up(tmp_path: Path) -> None:
    first, second = Agent(), Agent()
    urls = await first.start(), await second.start()
    try:
        async with refereed(tmp_path / "referee.log") as referee:
            # One match is played first, so that the door is there to receive the next start.
            await referee.play(*urls, **RULES)
            lost = rpc.dumps(rpc.call("start_match", referee.start_of("R1M99", *urls, **RULES), 1))
            _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(referee.league.endpoint).port)
            referee.referee.send_signal(signal.SIGSTOP)
            writer.write(HEAD % len(lost) + lost)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            referee.referee.send_signal(signal.SIGCONT)
            # This match is given after R1M99, so R1M99 has been dealt with once it is over.
            await referee.play(*urls, **RULES)
    finally:
        await first.stop()
        await second.stop()
    assert "R1M99" not in referee.league.heartbeats
    assert sorted(referee.league.results) == ["R1M1", "R1M2"]


async def test_each_player_gets_a_secret_path_and_the_registered_one_still_works(tmp_path: Path) -> None:
    paths: list[str] = []

    async def join(talk: Talk, call: Call) -> None:
        """Answer by a POST to the address that the referee registered with, as real agents do."""
        paths.append(urlsplit(call.params["referee_endpoint"]).path)
        await talk.say(result(call, {"status": "RECEIVED"}))
        endpoint = referee.league.endpoint
        await post(endpoint, {"jsonrpc": "2.0", "id": 1, "method": "GAME_JOIN_ACK", "params": message(call)})

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
    # Everybody can read the transcript, so it must not contain the secret paths.
    public = json.dumps([report, referee.league.transcript])
    assert "referee_endpoint" in public
    assert not any(path.rpartition("/")[2] in public for path in paths)
