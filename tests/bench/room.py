"""A room full of browsers: from a result accepted to the last one's frame, beside a bare broadcast of the same bytes.

Results come one at a time, each when everybody has the one before it: a referee of our own, that plays nothing,
reports them. ``python -m tests.bench.room``
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.bench.__main__ import percentiles
from tests.bench.processes import LEAGUE, Bench, Process, running_site
from tests.e2e.site import free_port, wait_for

ACK = '{"type":"ack"}'
PLAYERS = 30
ROUNDS = 3
GAP_S = 0.3
"""After everybody has a frame: longer than a page waits between two renderings."""
LIMIT_S = 30.0


class Browsers:
    """So many sockets, and when each last got a frame that was waited for."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.ready = 0
        self.frame = b""
        self._waits_for = ""
        self._arrived: list[float] = []
        self._all = asyncio.Event()
        self._known: dict[bytes, str] = {}

    @contextlib.asynccontextmanager
    async def watching(self, url: str, origin: str) -> AsyncIterator[None]:
        """Open the sockets, and close them at the end."""
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(headers={"Origin": origin}, connector=connector) as session:
            tasks = [asyncio.create_task(self._watch(session, url)) for _ in range(self.count)]
            try:
                async with asyncio.timeout(LIMIT_S):
                    while self.ready < self.count:  # noqa: ASYNC110 - counted by all of them
                        await asyncio.sleep(0.05)
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, session: aiohttp.ClientSession, url: str) -> None:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            async for message in socket:
                now, frame = time.time(), message.data
                if isinstance(frame, str):
                    continue
                await socket.send_str(ACK)
                # Everybody gets the same bytes: they are looked at once.
                if frame not in self._known:
                    self._known = {frame: gzip.decompress(frame).decode()}
                text = self._known[frame]
                self.ready += text.startswith('{"type": "snapshot"')
                if self._waits_for and self._waits_for in text:
                    self.frame = frame
                    self._arrived.append(now)
                    if len(self._arrived) == self.count:
                        self._all.set()

    async def last_arrival(self, text: str, begin: Callable[[], Awaitable[float]]) -> float:
        """Begin something; milliseconds from the moment it happened until every browser was sent a text."""
        self._waits_for, self._arrived, self._known = text, [], {}
        self._all.clear()
        begun = await begin()
        async with asyncio.timeout(LIMIT_S):
            await self._all.wait()
        return (max(self._arrived) - begun) * 1000


class Cast:
    """Players that only listen, and a referee that plays nothing and reports what it is told to."""

    def __init__(self, url: str, referee_key: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._referee_key = referee_key
        self._session = session
        self._port = free_port()
        self.started: dict[str, dict[str, Any]] = {}
        self.token = ""

    @contextlib.asynccontextmanager
    async def registered(self) -> AsyncIterator[None]:
        """Serve, and register everybody."""
        application = web.Application()
        application.router.add_post("/{who}", self._called)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._port).start()
        try:
            for number in range(PLAYERS):
                await self._register("player", f"Player {number}")
            self.token = (await self._register("referee", "Reporter"))["auth_token"]
            yield
        finally:
            await runner.cleanup()

    async def _called(self, request: web.Request) -> web.Response:
        call = await request.json()
        params = call.get("params", {})
        if call["method"] == "start_match":
            self.started[params["match_id"]] = params
        return web.json_response({"jsonrpc": "2.0", "id": call["id"], "result": {"status": "ACCEPTED"}})

    async def _register(self, kind: str, name: str) -> Any:
        meta = {
            "display_name": name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": f"http://127.0.0.1:{self._port}/{name.replace(' ', '')}",
            "max_concurrent_matches": 100,
            "registration_code": self._referee_key,
            "seals": True,
        }
        return await self.call(
            f"register_{kind}",
            {
                "message_type": "LEAGUE_REGISTER_REQUEST" if kind == "player" else "REFEREE_REGISTER_REQUEST",
                "sender": f"{kind}:{name.replace(' ', '')}",
                f"{kind}_meta": meta,
            },
        )

    async def call(self, method: str, fields: dict[str, Any]) -> Any:
        """A call of the league manager."""
        params = {
            "protocol": "league.v2",
            "timestamp": "2026-01-01T00:00:00Z",
            "conversation_id": "conv-bench",
            **fields,
        }
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        async with self._session.post(f"{self._url}/mcp", json=body) as reply:
            answer = await reply.json()
        return answer["result"]

    async def report(self, match_id: str) -> None:
        """Report a match."""
        match = self.started[match_id]
        first, second = match["player_A_id"], match["player_B_id"]
        await self.call(
            "report_match_result",
            {
                "message_type": "MATCH_RESULT_REPORT",
                "sender": "referee:REF01",
                "auth_token": self.token,
                "league_id": LEAGUE,
                "round_id": match["round_id"],
                "match_id": match_id,
                "attempt": match.get("attempt"),
                "result": {
                    "winner": first,
                    "score": {first: 3, second: 0},
                    "details": {"drawn_number": 8, "choices": {first: "even", second: "odd"}},
                },
            },
        )


async def league_run(bench: Bench, browsers: Browsers) -> tuple[list[float], list[bytes]]:
    """Three rounds, result by result: the delays, and the frames."""
    delays, frames = [], []
    headers = {"Authorization": f"Bearer {bench.key}"}
    async with aiohttp.ClientSession() as session:
        cast = Cast(bench.url, bench.referee_key, session)

        async def accepted(match_id: str) -> float:
            await cast.report(match_id)
            rows = bench.rows("SELECT finished_at FROM matches_match WHERE match_id = ?", match_id)
            return datetime.fromisoformat(f"{rows[0][0]}+00:00").timestamp()

        async with cast.registered(), browsers.watching(f"{bench.url}/ws/leagues/{LEAGUE}/?packed=gzip", bench.url):
            for _ in range(ROUNDS):
                cast.started.clear()
                async with session.post(f"{bench.url}/api/leagues/{LEAGUE}/start", headers=headers, json={}) as reply:
                    reply.raise_for_status()
                async with asyncio.timeout(LIMIT_S):
                    while len(cast.started) < PLAYERS // 2:  # noqa: ASYNC110 - filled by calls
                        await asyncio.sleep(0.05)
                for match_id in sorted(cast.started):
                    await asyncio.sleep(GAP_S)
                    delays.append(
                        await browsers.last_arrival(f'id=\\"result-{match_id}\\"', partial(accepted, match_id))
                    )
                    frames.append(browsers.frame)
    return delays, frames


async def bare_run(url: str, frames: list[bytes], browsers: Browsers) -> list[float]:
    """The same frames by a bare broadcast: the delays."""
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
    """Both runs, one after the other; figures in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="league-bench-") as name:
        folder = Path(name)
        with running_site(folder) as bench:
            league, frames = asyncio.run(_with_browsers(sockets, lambda browsers: league_run(bench, browsers)))
        port = free_port()
        bare = Process("bare", folder / "bare.log", "-m", "tests.bench.bare", "--port", str(port))
        try:
            wait_for("the bare server", lambda: bare.says("READY"))
            floor = asyncio.run(
                _with_browsers(sockets, lambda browsers: bare_run(f"http://127.0.0.1:{port}", frames, browsers))
            )
        finally:
            bare.stop()
    found = {"league_ms": percentiles(league), "bare_ms": percentiles(floor)}
    return found | {
        "results": len(league),
        "frame_kB": sum(map(len, frames)) / len(frames) / 1000,
        "ratio": found["league_ms"]["p95"] / found["bare_ms"]["p95"],
    }


async def _with_browsers(sockets: int, run: Callable[[Browsers], Awaitable[Any]]) -> Any:
    return await run(Browsers(sockets))


def main() -> None:
    """Run it and print what it took."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.room", description=__doc__)
    parser.add_argument("--sockets", type=int, default=500, help="open on the board; 1 to 1000")
    wanted = parser.parse_args()
    if not 1 <= wanted.sockets <= 1000:
        parser.error("--sockets from 1 to 1000")
    found = measure(wanted.sockets)
    print(f"{wanted.sockets} sockets, {found['results']} results, {found['frame_kB']:.1f} kB a frame")
    for label, key in (("accepted to last frame", "league_ms"), ("bare broadcast", "bare_ms")):
        ms = found[key]
        print(f"  {label:<24}{ms['p50']:8.1f} ms p50   {ms['p95']:.1f} ms p95   {ms['max']:.1f} ms max")
    print(f"  ratio of p95            {found['ratio']:8.2f}")


if __name__ == "__main__":
    main()
