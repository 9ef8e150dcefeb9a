"""Runs a bot on a port: its server, its registration, its callbacks and its log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urljoin

from aiohttp import web

from tests.bots.base import Caller, Log, bound, listening
from tests.bots.zoo.base import Bot
from tests.bots.zoo.entries import Received, Unregistered
from tests.bots.zoo.speech import Reply


def _bound_alone(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A socket bound at ``host``, and one that keeps the same port of 127.0.0.1 from other programs.

    A bot at 127.0.0.6 that registers with 127.0.0.1 is called there first. If another bot listened there, it would
    play this bot's matches.
    """
    while True:
        sock, held = bound(host, port), socket.socket()
        try:
            if host != Bot.host:
                held.bind((Bot.host, sock.getsockname()[1]))
            return sock, held
        except OSError:
            sock.close()
            held.close()
            if port:
                raise


class Serving:
    """Runs one bot; a process may run many.

    Args:
        kind: the bot's class.
        league: the league manager's ``/mcp`` address.
        log: the JSON lines file, overwritten: ``in`` for calls received, ``out`` for calls made.
        port: 0 picks a free one.
        referee_port: the port of the first referee.
    """

    def __init__(self, kind: type[Bot], *, league: str, log: Path, port: int = 0, referee_port: int = 8001) -> None:
        # The socket is bound and not yet listening: the port is known, and calls are refused until it listens.
        self._sock, self._held = _bound_alone(kind.host, port)
        self.bot = kind(league, self._sock.getsockname()[1], referee_port)
        self._log = Log(log)
        # A socket bound to 127.0.0.1 could not call another machine.
        self._caller = Caller(self._log, kind.host if kind.host != Bot.host else "")
        self._server = AsyncExitStack()

    async def start(self) -> str:
        """Listen and register, in this bot's order; returns the line to print."""
        server = listening({"/{anything:.*}": self._handle}, sock=self._sock)
        if not self.bot.registers_first:
            await self._server.enter_async_context(server)
        why = await self._register()
        if self.bot.registers_first:
            await self._server.enter_async_context(server)
        if why:
            self._log.write(unregistered=why)
            return f"UNREGISTERED {self.bot.name} {self.bot.endpoint} {why}"
        return f"READY {self.bot.name} {self.bot.endpoint} {self.bot.given_id or '-'}"

    async def stop(self) -> None:
        """Close everything."""
        await self._server.aclose()
        await self._caller.close()
        self._sock.close()
        self._held.close()
        self._log.close()

    async def _handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        if request.method != "POST":
            reply = Reply(405, {"detail": "Method Not Allowed"}, verdict="not here")
        else:
            reply = self.bot.serve(request.path, raw)
        if self.bot.callback is not None and self.bot.callback.first:
            await asyncio.gather(*(self._caller.post(*post) for post in reply.posts))
        else:
            for post in reply.posts:
                self._caller.later(*post)
        with contextlib.suppress(ValueError):
            raw = json.loads(raw)
        line = {"in": raw if not isinstance(raw, bytes) else raw.decode(errors="replace")[:2000]}
        self._log.write(
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

    async def _register(self) -> str:
        """Register; returns why that failed, or an empty text."""
        talk = self.bot.enters(self.bot.applicant())
        received: Received | None = None
        try:
            while True:
                try:
                    post = next(talk) if received is None else talk.send(received)
                except StopIteration as end:
                    if end.value:
                        self.bot.read_registration(end.value)
                    return ""
                url = self.bot.league if post.at == "mcp" else urljoin(self.bot.league, post.at)
                received = Received(*await self._caller.post(url, post.body))
        except Unregistered as error:
            return str(error)
