"""Foreign agents that are programs of their own: with Node's http, Java's HttpServer and Python's http.server."""

from __future__ import annotations

import asyncio
import shutil
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from contextlib import suppress
from pathlib import Path

from tests.bots.foreign_agents.base import ForeignAgent

PROGRAMS = Path(__file__).parent / "programs"


class _OwnProcess(ForeignAgent):
    """Runs a program, which listens and registers by itself and prints ``READY <player id>``."""

    program: tuple[str, ...] = ()
    process: Process | None = None

    async def start(self) -> str:
        await self.listener.close()
        self.process = await create_subprocess_exec(*self.program, self.league, self.name, stdout=PIPE, stderr=PIPE)
        assert self.process.stdout is not None
        line = (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode().strip()
        word, _, player_id = line.partition(" ")
        if word != "READY" or not player_id:
            return f"UNREGISTERED {self.name} {line}"
        self.player_id = player_id
        return f"READY {self.name} {player_id}"

    async def stop(self) -> None:
        if self.process is not None:
            # A program that could not register may have ended by itself.
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.communicate()
        self.log.close()


class Node(_OwnProcess):
    """``http.createServer``: camelCase in its registration, chunked answers, 404 for unknown methods."""

    program = ("node", str(PROGRAMS / "player.js"))


class Java(_OwnProcess):
    """``com.sun.net.httpserver`` and regular expressions; its client offers HTTP/2 by an upgrade."""

    program = ("java", str(PROGRAMS / "Player.java"))


class SingleThread(_OwnProcess):
    """``http.server.HTTPServer`` with ``protocol_version = "HTTP/1.1"``: one connection at a time, for as long as it is
    open."""

    program = (sys.executable, str(PROGRAMS / "single_thread.py"))


ABSENT = [kind.__name__ for kind in (Node, Java, SingleThread) if shutil.which(kind.program[0]) is None]
"""The foreign agents whose interpreter is not installed here."""
