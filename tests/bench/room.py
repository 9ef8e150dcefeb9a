"""How long a result takes to reach the last of many browsers, beside a bare broadcast of the same bytes.

A referee of the bench, which plays nothing, reports one result at a time: the next one when every browser has the one
before. ``python -m tests.bench.room``
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

import aiohttp
from aiohttp import web

from tests.bench.part import ACK, LIMIT_S, command_line, in_words, percentiles, scratch, sockets, until, within
from tests.bench.processes import LEAGUE, Bench, Process, running_site
from tests.bots import words
from tests.bots.base import listening
from tests.e2e.scaled import ENVIRONMENT
from tests.e2e.site import Instructor, free_port, wait_for

PLAYERS = 30
ROUNDS = 3
GAP_S = 0.3
"""Pause after every browser has a frame: no shorter than the site waits between two renderings of a page."""


class Browsers:
    """Many sockets on one page, and the times at which each got the awaited frame."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.ready = 0
        self.frame = b""
        self._awaited_text = ""
        self._arrival_times: dict[aiohttp.ClientWebSocketResponse, float] = {}
        self._all_arrived = asyncio.Event()
        self._texts: dict[bytes, str] = {}

    def watching(self, url: str, origin: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Open the sockets, and close them at the end."""
        return sockets(origin, [partial(self._watch, url=url)] * self.count, lambda: self.ready >= self.count)

    async def _watch(self, session: aiohttp.ClientSession, url: str) -> None:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            async for message in socket:
                now, frame = time.time(), message.data
                if isinstance(frame, str):
                    continue
                await socket.send_str(ACK)
                # Every browser gets the same bytes, so they are unpacked once.
                if frame not in self._texts:
                    self._texts = {frame: gzip.decompress(frame).decode()}
                text = self._texts[frame]
                self.ready += text.startswith('{"type": "snapshot"')
                if self._awaited_text and self._awaited_text in text:
                    self.frame = frame
                    # A browser may get a second frame with the text before the last browser has the first.
                    self._arrival_times.setdefault(socket, now)
                    if len(self._arrival_times) == self.count:
                        self._all_arrived.set()

    async def last_arrival(self, text: str, begin: Callable[[], Awaitable[float]]) -> float:
        """Begin something; returns the milliseconds until the last browser got a frame that contains ``text``.

        Args:
            text: what to wait for.
            begin: begins it; returns the time (seconds since 1970) at which it had happened.
        """
        self._awaited_text, self._arrival_times, self._texts = text, {}, {}
        self._all_arrived.clear()
        begun = await begin()
        async with asyncio.timeout(LIMIT_S):
            await self._all_arrived.wait()
        return (max(self._arrival_times.values()) - begun) * 1000


class Cast:
    """Players that only listen, and a referee that plays nothing and reports the matches that the bench names."""

    def __init__(self, site: Instructor, session: aiohttp.ClientSession) -> None:
        self._site = site
        self._session = session
        self._base = ""
        self.started: dict[str, dict[str, Any]] = {}
        self.token = ""

    @contextlib.asynccontextmanager
    async def registered(self) -> AsyncIterator[None]:
        """Listen for all agents and register them, until the block ends."""
        # All agents have one port; their paths tell them apart, as behind a gateway.
        self._site.post("/gateways", {"host": "127.0.0.1"})
        async with listening({"/{who}": self._called}) as self._base:
            for number in range(PLAYERS):
                await self._register("player", f"Player {number}")
            self.token = (await self._register("referee", "Reporter"))["auth_token"]
            yield

    async def _called(self, request: web.Request) -> web.Response:
        call = await request.json()
        params = call.get("params", {})
        if call["method"] == "start_match":
            self.started[params["match_id"]] = params
        return web.json_response({"jsonrpc": "2.0", "id": call["id"], "result": {"status": "ACCEPTED"}})

    async def _register(self, kind: str, name: str) -> Any:
        at = f"{self._base}/{name.replace(' ', '')}"
        more = {"max_concurrent_matches": 100, "registration_code": ENVIRONMENT["LEAGUE_REFEREE_KEY"], "seals": True}
        fields = words.registration(kind, name.replace(" ", ""), "conv-bench", words.meta(name, at, **more))
        return await self.call(f"register_{kind}", fields)

    async def call(self, method: str, fields: dict[str, Any]) -> Any:
        """Call the league manager; returns the ``result`` of its answer."""
        async with self._session.post(f"{self._site.url}/mcp", json=words.rpc(method, fields)) as reply:
            answer = await reply.json()
        return answer["result"]

    async def report(self, match_id: str) -> None:
        """Report that the first player of a match won."""
        match = self.started[match_id]
        first, second = match["player_A_id"], match["player_B_id"]
        report = words.message(
            "MATCH_RESULT_REPORT",
            "referee:REF01",
            "conv-bench",
            auth_token=self.token,
            league_id=LEAGUE,
            round_id=match["round_id"],
            match_id=match_id,
            attempt=match.get("attempt"),
            result={
                "winner": first,
                "score": {first: 3, second: 0},
                "details": {"drawn_number": 8, "choices": {first: "even", second: "odd"}},
            },
        )
        await self.call("report_match_result", report)

    async def started_matches(self) -> list[str]:
        """Wait until all matches of a round have been started; returns their ids."""
        await until(lambda: len(self.started) >= PLAYERS // 2)
        return sorted(self.started)


async def league_run(bench: Bench, browsers: Browsers) -> tuple[list[float], list[bytes]]:
    """Play ROUNDS rounds, one result after the other; returns the delays in milliseconds, and the frames."""
    delays, frames = [], []
    async with aiohttp.ClientSession() as session:
        cast = Cast(bench, session)

        async def accepted(match_id: str) -> float:
            await cast.report(match_id)
            rows = bench.rows("SELECT finished_at FROM matches_match WHERE match_id = ?", match_id)
            return datetime.fromisoformat(f"{rows[0][0]}+00:00").timestamp()

        async with cast.registered(), browsers.watching(f"{bench.url}/ws/leagues/{LEAGUE}/?packed=gzip", bench.url):
            for _ in range(ROUNDS):
                cast.started.clear()
                await asyncio.to_thread(bench.post, f"/leagues/{LEAGUE}/start")
                for match_id in await cast.started_matches():
                    await asyncio.sleep(GAP_S)
                    delays.append(
                        await browsers.last_arrival(f'id=\\"result-{match_id}\\"', partial(accepted, match_id))
                    )
                    frames.append(browsers.frame)
    return delays, frames


async def bare_run(url: str, frames: list[bytes], browsers: Browsers) -> list[float]:
    """Send the same frames by a bare broadcast; returns the delays in milliseconds."""
    delays = []
    async with aiohttp.ClientSession() as session, browsers.watching(f"{url}/", url):
        for frame in frames:

            async def push(frame: bytes = frame) -> float:
                async with session.post(f"{url}/", data=frame) as reply:
                    return float(await reply.json(content_type=None))

            await asyncio.sleep(GAP_S)
            delays.append(await browsers.last_arrival(gzip.decompress(frame).decode(), push))
    return delays


def measure(sockets: int) -> dict[str, Any]:
    """Do both runs, one after the other; returns the figures."""
    with scratch() as folder:
        with running_site(folder) as bench:
            league, frames = asyncio.run(league_run(bench, Browsers(sockets)))
        port = free_port()
        bare = Process("bare", folder / "bare.log", "-m", "tests.bench.bare", "--port", str(port))
        try:
            wait_for("the bare server", lambda: bare.says("READY"))
            floor = asyncio.run(bare_run(f"http://127.0.0.1:{port}", frames, Browsers(sockets)))
        finally:
            bare.stop()
    measured = {"league_ms": percentiles(league), "bare_ms": percentiles(floor)}
    return measured | {
        "results": len(league),
        "frame_kB": sum(map(len, frames)) / len(frames) / 1000,
        "ratio": measured["league_ms"]["p95"] / measured["bare_ms"]["p95"],
    }


def main() -> None:
    """Measure and print."""
    parser = command_line("room", __doc__)
    parser.add_argument("--sockets", type=within(1, 2000), default=500, help="open on the board; 1 to 2000")
    options = parser.parse_args()
    measured = measure(options.sockets)
    print(f"{options.sockets} sockets, {measured['results']} results, {measured['frame_kB']:.1f} kB a frame")
    for label, key in (("accepted to last frame", "league_ms"), ("bare broadcast", "bare_ms")):
        print(f"  {label:<24}{in_words(measured[key], 'p50', 'p95', 'max')}")
    print(f"  ratio of p95            {measured['ratio']:8.2f}")


if __name__ == "__main__":
    main()
