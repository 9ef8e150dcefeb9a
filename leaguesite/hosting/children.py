"""Child processes of the host: started, restarted when they die, ended with the host in every case."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from subprocess import DEVNULL, PIPE

from leaguesite.environment import BASE_DIR

logger = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S, STEADY_S = 0.2, 5.0, 10.0

PASSED_ON = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV"),
        *("LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("LEAGUE_LOG_FORMAT", "LEAGUE_LOG_LEVEL", "LEAGUE_LOG_FILE_LEVEL"),
    )
)
PASSED_ON_BEGINNINGS = ("LC_", "PYTHON")


def harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """What of an environment any child may have: a list of what is passed on, so that nothing secret is forgotten.

    Whoever may look at a child (``/proc/*/environ``) must not find the password of the desk or the database there.
    ``LEAGUE_PASS_ON`` names more, with commas between them: what a profiler or another tool of the operator needs.
    """
    more = {"LEAGUE_PASS_ON", *(name.strip() for name in environment.get("LEAGUE_PASS_ON", "").split(","))}
    more.update(name for name in environment if name.startswith(PASSED_ON_BEGINNINGS))
    return {name: value for name, value in environment.items() if name in PASSED_ON or name in more}


class Child:
    """One process that is kept running.

    It gets a pipe as standard input: when the host dies, by whatever signal, the pipe ends and the
    child ends itself. It has a process group of its own, so that Ctrl-C reaches the host alone.

    Args:
        name: for the log.
        command: makes the command line anew for each start (a port may have been taken meanwhile).
        environment: what it gets beside what :func:`harmless` lets through: no password or key of anybody else.
        told: one line that it reads first from its standard input: what no other process may see.
    """

    def __init__(
        self, name: str, command: Callable[[], Sequence[str]], environment: dict[str, str], *, told: str = ""
    ) -> None:
        self.name = name
        self._command = command
        self._environment = environment
        self._told = told
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
        process = await asyncio.create_subprocess_exec(
            *self._command(),
            stdin=PIPE,
            stdout=DEVNULL,
            cwd=BASE_DIR,
            env=harmless(os.environ) | self._environment,
            start_new_session=True,
        )
        if self._told and process.stdin is not None:
            process.stdin.write(f"{self._told}\n".encode())
        return process

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
