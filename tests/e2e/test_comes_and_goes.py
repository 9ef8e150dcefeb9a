"""A web process stands still, its players go on at another one, and it comes back with their old lines."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.desk import Desk
from tests.e2e.scaled import WebProcess, scaled_site
from tests.e2e.site import Instructor, Player, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]
LEAGUE, OPEN_LEAGUE, CONTEST = "moving", "open", "Several programs fetch the messages"
TIMES = 6
"""So often that each process finds three of its lines taken over within a minute, as if by two programs."""


class Switch:
    """A proxy in front of two web processes: it passes every connection on to one of them.

    Attributes:
        url: where it listens.
    """

    def __init__(self, to: WebProcess) -> None:
        self._to = to
        self._open: dict[asyncio.Task[None], WebProcess] = {}
        self._left: list[asyncio.StreamWriter] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._pass_on, "127.0.0.1", 0), self._loop)
        self._server = server.result()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def turn_to(self, web: WebProcess) -> None:
        """Pass new connections on to this process, and end those to the other one, which never hears of it.

        So it is when the link to its machine is cut, or when the proxy's word is lost.
        """
        self._to = web
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._open])

    def connections(self, web: WebProcess) -> int:
        """How many connections to a process are open."""
        return list(self._open.values()).count(web)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = self._to
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._to.port)
        pumps = [asyncio.ensure_future(_pump(reader, to_writer)), asyncio.ensure_future(_pump(to_reader, writer))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            to_writer.close()
        except asyncio.CancelledError:
            self._left.append(to_writer)
        finally:
            for pump in pumps:
                pump.cancel()
            del self._open[task]
            writer.close()

    def close(self) -> None:
        """Stop listening, and end all connections."""

        async def end() -> None:
            self._server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Those that were just cancelled have left theirs, too. What waits to be written is not waited for.
            for writer in self._left:
                writer.transport.abort()
            await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()


@contextmanager
def frozen(web: WebProcess) -> Iterator[None]:
    """A process that stands still until the block ends; then it answers again."""
    web.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        web.process.send_signal(signal.SIGCONT)
    wait_for(f"{web.name} goes on", web.healthy)


def poll(web: WebProcess, token: str, wait_s: float, timeout_s: float) -> int:
    """Fetch an agent's messages once; the HTTP status, or 0 if the caller gave up."""
    head = {"Authorization": f"Bearer {token}"}
    try:
        with httpx.Client(trust_env=False, timeout=timeout_s) as http:
            return http.get(f"{web.url}/inbox", params={"wait": f"{wait_s:g}"}, headers=head).status_code
    except httpx.TimeoutException:
        return 0


@pytest.mark.parametrize("way", ["poll", "websocket"])
def test_a_web_process_that_comes_and_goes_is_no_second_program(tmp_path: Path, way: str) -> None:
    with ExitStack() as stack:
        site, _redis = stack.enter_context(scaled_site(tmp_path))
        site.start_conductor()
        one, other = site.start_web(2)
        site.start_referee(other)
        site.wait_for_referees(other, 1)
        other.create(LEAGUE, auto_advance=True)
        switch = Switch(one)
        stack.callback(switch.close)
        entrance = Instructor(switch.url)
        stack.callback(entrance.http.close)
        players = []
        for number in range(1, 5):
            options = ("--choice", "alternate", "--dial", way, "--league-id", LEAGUE)
            players.append(Player(entrance, f"Agent{number}", tmp_path, *options))
            stack.callback(players[-1].close)
        desks = [Desk(web, LEAGUE) for web in (one, other)]
        for desk in desks:
            stack.callback(desk.close)

        here, there, said = one, other, list[str]()
        for _ in range(TIMES):
            wait_for("the players have lines", lambda: switch.connections(here) >= len(players))  # noqa: B023
            with frozen(here):
                # What callers gave up waits in front of the process, and is read when it goes on.
                assert {poll(here, player.auth_token(), 25, 0.3) for player in players} == {0}
                switch.turn_to(there)
                wait_for("the players have new lines", lambda: switch.connections(there) >= len(players))  # noqa: B023
                beside = desks[(one, other).index(there)]
                wait_for("the desk names the process", lambda: "stood still" in beside.text())  # noqa: B023
            here, there = there, here
        said += [desk.text() for desk in desks]

        league = other.play_to_the_end(LEAGUE)
        said += [desk.text() for desk in desks]
        assert [text for text in said if CONTEST in text] == []
        assert league["matches_done"] == 6
        assert {match["status"] for match in other.get(f"/leagues/{LEAGUE}/matches")} <= {"WIN", "DRAW"}
        assert {row["technical_losses"] for row in other.get(f"/leagues/{LEAGUE}/standings")} == {0}

        # Two programs with one token take the line over from each other, at two processes.
        other.create(OPEN_LEAGUE)
        lone = Player(other, "Lone", tmp_path, "--dial", way, "--league-id", OPEN_LEAGUE)
        lone.close()
        desk = Desk(other, OPEN_LEAGUE)
        stack.callback(desk.close)
        with ThreadPoolExecutor(2) as programs:

            def both_poll() -> bool:
                polls = [programs.submit(poll, web, lone.auth_token(), 1, 20) for web in (one, other)]
                assert {one_poll.result() for one_poll in polls} <= {200, 409}
                return CONTEST in desk.text()

            wait_for("the second program is noticed", both_poll)
