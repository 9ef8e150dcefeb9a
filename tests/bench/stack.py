"""What the libraries cost without a league: the same calls, by the same processes, through the same servers.

Two processes stand for the referees: they get ``start_match`` by aiohttp's server, send the players what a match sends
them, and post reports as large as the real ones. A third stands for the site: it has daphne and Django's handler as the
site has them, gives every report the same answer, and sends announcements, tables and ``start_match`` by a bare aiohttp
session. Bodies of requests are parsed as JSON; nothing is judged, recorded or logged. The time that a league takes
beyond this is the site's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from league_sdk.protocol import rpc
from tests.bench.floor import HEADERS, Script
from tests.bots.base import bound, listening
from tests.e2e.site import ROOT, free_port

REFEREES = 2
START_BYTES = 2000
"""About the size of a ``start_match``."""
ANSWER = {"jsonrpc": "2.0", "result": {"status": "ACCEPTED", "reason": None}, "id": 1}
LIMIT_S = 120.0
"""How long each of the processes may run."""


def measure(script: Script, folder: Path) -> float:
    """Send a run's calls through the stack alone; returns the seconds it took.

    Args:
        script: what was sent to the players; these must still be running.
        folder: an empty folder, for what the processes read and write.
    """
    rounds = [{"plays": plays, "step": step} for plays, step in script.steps if step]
    calls = {"rounds": rounds, "transcripts": script.transcripts}
    (folder / "calls.json").write_text(json.dumps(calls, default=bytes.decode), encoding="utf-8")
    port = free_port()
    with contextlib.ExitStack() as running:
        referees = [running.enter_context(_process("referee", folder, port)) for _ in range(REFEREES)]
        ports = [_read_line(referee) for referee in referees]
        site = running.enter_context(_process("site", folder, port, *ports))
        return float(_read_line(site))


@contextlib.contextmanager
def _process(kind: str, folder: Path, *more: object) -> Any:
    command = [sys.executable, "-m", "tests.bench.stack", kind, str(folder), *map(str, more)]
    environment = os.environ | {"LEAGUE_DATA": str(folder / "data"), "LEAGUE_CHECK_ON_REGISTRATION": "0"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        # A process that hangs is killed, so that a caller that waits for its output sees the output end.
        limit = threading.Timer(LIMIT_S, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()


def _read_line(process: subprocess.Popen[str]) -> str:
    if process.stdout is None or not (line := process.stdout.readline()):
        raise RuntimeError("a part of the stack has ended")
    return line.strip()


class _Sender:
    """A bare aiohttp session, opened in the event loop that uses it."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=HEADERS)

    async def post(self, call: list[str]) -> None:
        async with self._session.post(call[0], data=call[1].encode()) as reply:
            reply.raise_for_status()
            await reply.read()

    async def aclose(self) -> None:
        await self._session.close()

    async def send_in_order(self, pairs: list[list[list[str]]]) -> None:
        for pair in pairs:
            await asyncio.gather(*map(self.post, pair))


async def referee(calls: dict[str, Any], site: str) -> None:
    """Play the matches that the site starts, by their numbers, until killed."""
    sender = _Sender()
    matches = [match for one in calls["rounds"] if one["plays"] for match in one["step"]]
    reports = [
        rpc.dumps(rpc.call("report_match_result", {"transcript": entries}, 1)).decode()
        for entries in calls["transcripts"]
    ]
    playing: set[asyncio.Task[None]] = set()

    async def play(number: int) -> None:
        await sender.send_in_order(matches[number])
        await sender.post([site, reports[number]])

    async def start(request: web.Request) -> web.Response:
        task = asyncio.create_task(play((await request.json())["params"]["number"]))
        playing.add(task)
        task.add_done_callback(playing.discard)
        return web.json_response(ANSWER)

    async with listening(start, sock=(sock := bound())):
        print(sock.getsockname()[1], flush=True)
        await asyncio.Event().wait()


def site(calls: dict[str, Any], port: int, referees: list[int]) -> None:
    """Serve, and drive the whole run from the event loop that serves."""
    # Twisted takes the loop that is there when it is imported first; Django reads its settings at the first import.
    from twisted.internet import asyncioreactor  # noqa: PLC0415

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    asyncioreactor.install(loop)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
    from leaguesite.asgi import application  # noqa: PLC0415 - sets Django up
    from leaguesite.mcp import views  # noqa: PLC0415
    from leaguesite.serving.daphne_server import CappedServer  # noqa: PLC0415

    reports_received: asyncio.Queue[None] = asyncio.Queue()

    class Constant(views.Answering):
        def begin(self, post: object) -> None:
            loop.call_soon_threadsafe(reports_received.put_nowait, None)
            self.reply.body = rpc.dumps(ANSWER)

    views.Answering = Constant  # type: ignore[misc]

    async def drive() -> None:
        sender = _Sender()
        number = 0
        begun = time.perf_counter()
        for one in calls["rounds"]:
            if one["plays"]:
                last = number + len(one["step"])
                await asyncio.gather(*(sender.post(_start(n, referees)) for n in range(number, last)))
                for _ in one["step"]:
                    await reports_received.get()
                number = last
            else:
                await asyncio.gather(*map(sender.send_in_order, one["step"]))
        wall_s = time.perf_counter() - begun
        await sender.aclose()
        print(wall_s, flush=True)

    tasks = set()
    CappedServer(application, host="127.0.0.1", port=port, begin=lambda: tasks.add(loop.create_task(drive()))).run()


def _start(number: int, referees: list[int]) -> list[str]:
    """The ``start_match`` of a match, for its referee; the referees take turns."""
    filler = "x" * START_BYTES
    body = rpc.dumps(rpc.call("start_match", {"number": number, "filler": filler}, 1)).decode()
    return [f"http://127.0.0.1:{referees[number % len(referees)]}/mcp", body]


if __name__ == "__main__":
    kind, name, web_port, *others = sys.argv[1:]
    everything = json.loads((Path(name) / "calls.json").read_text(encoding="utf-8"))
    if kind == "referee":
        asyncio.run(referee(everything, f"http://127.0.0.1:{web_port}/mcp"))
    else:
        site(everything, int(web_port), [int(other) for other in others])
