"""The shipped HAProxy configuration does what deploy/haproxy says, before two web processes that can be broken."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.e2e.haproxy import haproxy
from tests.e2e.ports import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(60)]
REPORT_ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


class Web:
    """A stand-in for a web process; it keeps the requests that reach it."""

    def __init__(self) -> None:
        self.port = free_port()
        self.health = 200
        self.breaks_off = False
        self.goes_on = asyncio.Event()
        """Unless it is set, this process stands still: it accepts, and answers nothing."""
        self.goes_on.set()
        self.asked: list[web.Request] = []
        self.bodies: list[int] = []
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application(client_max_size=100 * 1024 * 1024)
        app.router.add_get("/health", self._health)
        app.router.add_get("/ws/live/", self._socket)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        self._runner = None

    async def _health(self, _: web.Request) -> web.Response:
        await self.goes_on.wait()
        return web.Response(status=self.health)

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        self.bodies.append(len(await request.read()))
        await self.goes_on.wait()
        if self.breaks_off and request.transport is not None:
            request.transport.abort()
        return web.Response(text=str(self.port))

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str("hello")
        async for _ in socket:
            await socket.send_str("hello")
        return socket


class Site:
    """HAProxy and what is behind it."""

    def __init__(self, url: str, webs: list[Web], http: aiohttp.ClientSession, log: Path) -> None:
        self.url, self.webs, self.http, self.log = url, webs, http, log

    async def status(self, path: str, data: bytes | None = None) -> int:
        """The status of a GET, or of a POST with this body."""
        body = None if data is None else io.BytesIO(data)
        async with self.http.request("GET" if data is None else "POST", self.url + path, data=body) as answer:
            await answer.read()
            return answer.status

    async def log_says(self, words: str) -> None:
        """Wait until the log has these words."""
        while words not in self.log.read_text():  # noqa: ASYNC110 - another program writes it
            await asyncio.sleep(0.05)


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    """HAProxy with the shipped files, before two web processes that answer."""
    async with AsyncExitStack() as stack:
        webs = [Web(), Web()]
        for one in webs:
            await one.start()
            stack.push_async_callback(one.stop)
        port, log = free_port(), folder / "haproxy.log"
        process = stack.enter_context(haproxy(folder, port, [one.port for one in webs]))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        made = Site(f"http://127.0.0.1:{port}", webs, http, log)
        while True:
            with suppress(aiohttp.ClientError):
                if await made.status("/") == 200:
                    break
            assert process.poll() is None, log.read_text()
            await asyncio.sleep(0.05)
        for one in webs:
            one.asked.clear()
        yield made


async def test_who_called_is_what_the_proxy_saw_not_what_the_caller_claims(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        claims = {"X-Forwarded-For": "10.9.8.7", "X-Forwarded-Proto": "https"}
        async with made.http.get(f"{made.url}/api/leagues", headers=claims) as answer:
            assert answer.status == 200
        (request,) = [one for each in made.webs for one in each.asked]
        assert request.headers.getall("X-Forwarded-For") == ["127.0.0.1"]
        assert request.headers.getall("X-Forwarded-Proto") == ["http"]


async def test_bodies_that_are_too_large_do_not_reach_the_site(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        kib = b"x" * 1024
        for path, most_kib in (("/mcp", 64), ("/leagues/fall/MCP/", 64), ("/inbox", 64), ("/admin/", 2048)):
            assert await made.status(path, kib * most_kib) == 200
            # It may be refused before all of it is sent.
            with suppress(aiohttp.ClientOSError):
                assert await made.status(path, kib * most_kib + b"x") == 413
        assert await made.status("/api/import", kib * 4096) == 200
        async with made.http.post(f"{made.url}/mcp", data=kib * 65) as answer:
            assert (await answer.json())["error"]["code"] == -32600
        assert sorted({size // 1024 for one in made.webs for size in one.bodies if size}) == [64, 2048, 4096]


async def test_sockets_pass_and_metrics_do_not(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        async with made.http.ws_connect(f"{made.url}/ws/live/") as socket:
            assert await socket.receive_str() == "hello"
        assert [await made.status(path) for path in ("/metrics", "/metrics/")] == [404, 404]
        assert [one.asked for one in made.webs] == [[], []]


async def test_the_log_has_no_code_and_no_reports_id(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        await made.status("/leagues/fall/mcp?code=K7QP-secret", b"{}")
        await made.status(f"/check/{REPORT_ID}")
        await made.log_says("GET /check/ID\n")
        log = made.log.read_text()
    assert "POST /leagues/fall/mcp\n" in log
    assert "secret" not in log and REPORT_ID not in log


async def test_a_call_that_nobody_has_received_goes_to_the_other_process(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        await made.webs[0].stop()
        assert [await made.status("/mcp", b"{}") for _ in range(4)] == [200] * 4
        assert len(made.webs[1].asked) == 4


async def test_a_call_that_a_process_has_received_is_never_sent_again(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        for one in made.webs:
            one.breaks_off = True
        # On a connection that was used before, the proxy says nothing and closes it.
        with suppress(aiohttp.ServerDisconnectedError):
            assert await made.status("/mcp", b"{}") == 502
        assert sum(len(one.asked) for one in made.webs) == 1


@asynccontextmanager
async def two_sockets(made: Site) -> AsyncIterator[list[aiohttp.ClientWebSocketResponse]]:
    """A socket at each of the two processes."""
    url = f"{made.url}/ws/live/"
    async with made.http.ws_connect(url) as one, made.http.ws_connect(url) as two:
        for socket in (one, two):
            assert await socket.receive_str() == "hello"
        yield [one, two]


async def test_a_process_that_is_not_healthy_gets_nothing_new_and_keeps_what_it_has(tmp_path: Path) -> None:
    async with site(tmp_path) as made, two_sockets(made) as sockets:
        made.webs[0].health = 503
        await made.log_says("Server healthy/web1 is stopping")
        assert [await made.status("/mcp", b"{}") for _ in range(4)] == [200] * 4
        assert [len(one.asked) for one in made.webs] == [0, 4]
        for socket in sockets:
            await socket.send_str("still there?")
            assert await socket.receive_str() == "hello"


async def test_what_waits_at_a_process_that_stands_still_is_ended(tmp_path: Path) -> None:
    async with site(tmp_path) as made, two_sockets(made) as sockets:
        made.webs[0].goes_on.clear()
        calls = await asyncio.gather(*(made.status("/mcp", b"{}") for _ in range(4)))
        assert sorted(calls) == [200, 200, 502, 502]
        ends = [asyncio.create_task(socket.receive()) for socket in sockets]
        ended, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        assert [one.result().type for one in ended] == [aiohttp.WSMsgType.CLOSED]
        await made.log_says(" D- GET /ws/live/")
        [left] = [socket for socket in sockets if not socket.closed]
        await left.send_str("still there?")
        made.webs[0].goes_on.set()
        [other] = [one for one in ends if one not in ended]
        assert (await other).data == "hello"


async def test_when_no_process_is_healthy_one_that_answers_says_so_itself(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        for one in made.webs:
            one.health = 503
        for name in ("web1", "web2"):
            await made.log_says(f"Server healthy/{name} is stopping")
        assert await made.status("/leagues/fall/") == 200
