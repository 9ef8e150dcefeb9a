"""A bot on a port: its server, its registration, its callbacks and its log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector, web

from tests.bots.zoo.base import Bot
from tests.bots.zoo.entries import Came, Post, Unregistered
from tests.bots.zoo.speech import Reply

LIMIT = ClientTimeout(total=10)


class Serving:
    """One bot in a process that may hold many.

    Args:
        kind: the bot's class.
        league: the league manager's ``/mcp`` address.
        log: the JSON lines file, written anew: ``in`` for calls received, ``out`` for what the bot sent.
        port: 0 picks a free one.
        referee_port: the first referee's.
    """

    def __init__(self, kind: type[Bot], *, league: str, log: Path, port: int = 0, referee_port: int = 8001) -> None:
        # Bound and not yet listening: the port is known, and calls are refused until ``listen``.
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((kind.host, port))
        self.bot = kind(league, self._socket.getsockname()[1], referee_port)
        # Line buffered, so that a test may read while we play.
        self._log = log.open("w", encoding="utf-8", buffering=1)
        self._posting: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None
        self._session: ClientSession | None = None

    async def start(self) -> str:
        """Listen and register, in this bot's order; the line to print."""
        # A player on another machine calls from there.
        self._session = ClientSession(timeout=LIMIT, connector=TCPConnector(local_addr=(self.bot.host, 0)))
        if not self.bot.registers_first:
            await self._listen()
        why = await self._register()
        if self.bot.registers_first:
            await self._listen()
        if why:
            self.write(unregistered=why)
            return f"UNREGISTERED {self.bot.name} {self.bot.endpoint} {why}"
        return f"READY {self.bot.name} {self.bot.endpoint} {self.bot.given_id or '-'}"

    async def stop(self) -> None:
        """Close everything."""
        for task in self._posting:
            task.cancel()
        await asyncio.gather(*self._posting, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        self._socket.close()
        self._log.close()

    def write(self, **line: Any) -> None:
        """One line of the log."""
        self._log.write(json.dumps(line, ensure_ascii=False) + "\n")

    # -- inwards ------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{anything:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    async def _handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        if request.method != "POST":
            reply = Reply(405, {"detail": "Method Not Allowed"}, verdict="not here")
        else:
            reply = self.bot.serve(request.path, raw)
        if self.bot.callback is not None and self.bot.callback.first:
            await asyncio.gather(*(self._post(*post) for post in reply.posts))
        else:
            for post in reply.posts:
                task = asyncio.create_task(self._post(*post))
                self._posting.add(task)
                task.add_done_callback(self._posting.discard)
        with contextlib.suppress(ValueError):
            raw = json.loads(raw)
        line = {"in": raw if not isinstance(raw, bytes) else raw.decode(errors="replace")[:2000]}
        self.write(
            **line,
            path=request.path,
            kind=reply.kind,
            verdict=reply.verdict,
            status=reply.status,
            reply=reply.body if reply.text is None else reply.text,
        )
        if reply.text is not None or reply.location:
            headers = {"Location": reply.location} if reply.location else None
            return web.Response(status=reply.status, text=reply.text or "", headers=headers)
        return web.json_response(reply.body, status=reply.status)

    # -- outwards -----------------------------------------------------------------------------------------

    async def _register(self) -> str:
        """Register; why not, or nothing."""
        talk = self.bot.enters(self.bot.applicant())
        came: Came | None = None
        try:
            while True:
                try:
                    post = next(talk) if came is None else talk.send(came)
                except StopIteration as end:
                    if end.value:
                        self.bot.read_registration(end.value)
                    return ""
                came = await self._send(post)
        except Unregistered as error:
            return str(error)

    async def _send(self, post: Post) -> Came:
        url = self.bot.league if post.at == "mcp" else urljoin(self.bot.league, post.at)
        status, body = await self._exchange(url, post.body)
        return Came(status, body)

    async def _post(self, url: str, body: dict[str, Any]) -> None:
        await self._exchange(url, body)

    async def _exchange(self, url: str, body: dict[str, Any]) -> tuple[int, Any]:
        """POST and log; status 0 when nothing came."""
        assert self._session is not None
        try:
            async with self._session.post(url, json=body) as response:
                text, status = await response.text(), response.status
        except (ClientError, TimeoutError, ValueError) as error:
            self.write(out=body, to=url, status=0, reply=repr(error))
            return 0, None
        try:
            answer = json.loads(text) if text else None
        except ValueError:
            answer = text[:2000]
        self.write(out=body, to=url, status=status, reply=answer)
        return status, answer
