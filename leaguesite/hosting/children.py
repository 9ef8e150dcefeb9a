"""Child processes of the host: started, restarted when they end, ended with the host in every case."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from subprocess import DEVNULL, PIPE

from leaguesite.environment import BASE_DIR

logger = logging.getLogger(__name__)

MIN_BACKOFF_S, MAX_BACKOFF_S, STEADY_AFTER_S = 0.2, 5.0, 10.0

PASSED_ON = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV"),
        *("LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("LEAGUE_LOG_FORMAT", "LEAGUE_LOG_LEVEL", "LEAGUE_LOG_FILE_LEVEL"),
    )
)
PASSED_ON_PREFIXES = ("LC_", "PYTHON")


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that every child may have.

    They are listed, so that no secret is passed on by oversight: a program that can read the environment of a child
    (``/proc/*/environ``) must not find the password of the desk or of the database there. ``LEAGUE_PASS_ON`` names
    more, separated by commas: what a profiler or another tool of the operator needs.
    """
    more = {"LEAGUE_PASS_ON", *(name.strip() for name in environment.get("LEAGUE_PASS_ON", "").split(","))}
    more.update(name for name in environment if name.startswith(PASSED_ON_PREFIXES))
    return {name: value for name, value in environment.items() if name in PASSED_ON or name in more}


class Child:
    """One process that is kept running.

    Its standard input is a pipe from the host: when the host dies, by whatever signal, the pipe ends and the child ends
    itself. It has a process group of its own, so that Ctrl-C reaches the host alone.

    Args:
        name: for the log.
        command: makes a new command line for each start (a port may have been taken meanwhile).
        environment: variables in addition to :func:`child_environment`; no password or key of another process.
        first_line: what it reads first from its standard input: a secret that no other process may see.
    """

    def __init__(
        self, name: str, command: Callable[[], Sequence[str]], environment: dict[str, str], *, first_line: str = ""
    ) -> None:
        self.name = name
        self._command = command
        self._environment = environment
        self._first_line = first_line
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start it, and again whenever it ends."""
        self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        backoff_s = MIN_BACKOFF_S
        while True:
            started = time.monotonic()
            try:
                self._starting = asyncio.create_task(self._spawn())
                self._process = await asyncio.shield(self._starting)
            except OSError as error:
                # Retry: a port or a place for another process may become free.
                reason: object = error
            else:
                reason = await self._process.wait()
            backoff_s = (
                MIN_BACKOFF_S if time.monotonic() - started > STEADY_AFTER_S else min(backoff_s * 2, MAX_BACKOFF_S)
            )
            logger.warning("%s ended (%s); starting it again in %.1f s", self.name, reason, backoff_s)
            await asyncio.sleep(backoff_s)

    async def _spawn(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *self._command(),
            stdin=PIPE,
            stdout=DEVNULL,
            cwd=BASE_DIR,
            env=child_environment(os.environ) | self._environment,
            start_new_session=True,
        )
        if self._first_line and process.stdin is not None:
            process.stdin.write(f"{self._first_line}\n".encode())
        return process

    def release(self) -> None:
        """Do not restart it any more."""
        if self._keeper is not None:
            self._keeper.cancel()

    async def stop(self, timeout_s: float, *, has_work: bool = True) -> None:
        """SIGTERM, and SIGKILL after ``timeout_s`` seconds; that is worth a warning if it may have had work to save."""
        self.release()
        if self._starting is not None:
            # A start that is under way is finished: its process is stopped as any other.
            with contextlib.suppress(OSError):
                self._process = await self._starting
        process = self._process
        if process is None or process.returncode is not None:
            return
        _signal(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(timeout_s):
                await process.wait()
        except TimeoutError:
            logger.log(logging.WARNING if has_work else logging.DEBUG, "%s does not stop; killing it", self.name)
            _signal(process, signal.SIGKILL)
            await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except ProcessLookupError:
        logger.debug("process %s is gone already", process.pid)
