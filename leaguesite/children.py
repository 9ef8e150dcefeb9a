"""Child processes of the host: started, restarted when they die, ended with the host in every case."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from subprocess import DEVNULL, PIPE

from leaguesite.environment import BASE_DIR

logger = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S, STEADY_S = 0.2, 5.0, 10.0


class Child:
    """One process that is kept running.

    It gets a pipe as standard input: when the host dies, by whatever signal, the pipe ends and the
    child ends itself. It has a process group of its own, so that Ctrl-C reaches the host alone.

    Args:
        name: for the log.
        command: makes the command line anew for each start (a port may have been taken meanwhile).
        environment: what is added to ours.
    """

    def __init__(self, name: str, command: Callable[[], Sequence[str]], environment: dict[str, str]) -> None:
        self.name = name
        self._command = command
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start it, and again whenever it ends."""
        self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        wait = FIRST_WAIT_S
        while True:
            begun = time.monotonic()
            try:
                self._process = await self._spawn()
            except OSError as error:
                # No free port, no room for another process: that may pass.
                code: object = error
            else:
                code = await self._process.wait()
            wait = FIRST_WAIT_S if time.monotonic() - begun > STEADY_S else min(wait * 2, LONGEST_WAIT_S)
            logger.warning("%s ended (%s); starting it again in %.1f s", self.name, code, wait)
            await asyncio.sleep(wait)

    async def _spawn(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command(),
            stdin=PIPE,
            stdout=DEVNULL,
            cwd=BASE_DIR,
            env=os.environ | self._environment,
            start_new_session=True,
        )

    def release(self) -> None:
        """Do not restart it any more."""
        if self._keeper is not None:
            self._keeper.cancel()

    async def stop(self, patience_s: float) -> None:
        """SIGTERM, and SIGKILL after ``patience_s`` seconds."""
        self.release()
        process = self._process
        if process is None or process.returncode is not None:
            return
        _signal(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(patience_s):
                await process.wait()
        except TimeoutError:
            logger.warning("%s does not stop; killing it", self.name)
            _signal(process, signal.SIGKILL)
            await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except ProcessLookupError:
        logger.debug("process %s is gone already", process.pid)
