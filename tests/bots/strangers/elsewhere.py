"""Strangers on other machines of the language: Node's http, Java's HttpServer and Python's http.server."""

from __future__ import annotations

import asyncio
import shutil
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from pathlib import Path

from tests.bots.strangers.base import Stranger

HERE = Path(__file__).parent / "foreign"


class Elsewhere(Stranger):
    """A program of its own, which listens and registers by itself and says ``READY <player id>``."""

    program: tuple[str, ...] = ()
    process: Process | None = None

    async def start(self) -> None:
        self.socket.close()
        self.process = await create_subprocess_exec(*self.program, self.league, self.name, stdout=PIPE, stderr=PIPE)
        assert self.process.stdout is not None
        line = (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode()
        word, _, self.player_id = line.strip().partition(" ")
        assert word == "READY" and self.player_id, line

    async def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            await self.process.communicate()
        self._log.close()


class Node(Elsewhere):
    """``http.createServer``, humps in its registration, chunks, 404 for what it does not know."""

    program = ("node", str(HERE / "player.js"))


class Java(Elsewhere):
    """``com.sun.net.httpserver`` and regular expressions; its client offers HTTP/2 by an upgrade."""

    program = ("java", str(HERE / "Player.java"))


class SingleThread(Elsewhere):
    """``http.server.HTTPServer`` with ``protocol_version = "HTTP/1.1"``: one connection at a time, for as long as it is
    open."""

    program = (sys.executable, str(HERE / "single_thread.py"))


ELSEWHERE: list[type[Elsewhere]] = [Node, Java, SingleThread]
ABSENT = [kind.__name__ for kind in ELSEWHERE if shutil.which(kind.program[0]) is None]
"""Whose machine is not installed here."""
