"""The sidecar: a process beside the web process that renders live pages and keeps SHARED up to date.

Both need the processor: in a thread of the web process they would slow down every call of an agent or a referee, as
only one thread of a process runs Python at a time. While the sidecar starts, or after it has failed, the web process
does both.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from django.conf import settings

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.live.hub import Render

logger = logging.getLogger(__name__)

TIMEOUT_S = 10.0
"""The limit for one page. A slower sidecar is stopped; even a page with a thousand players takes less than a second."""
START_TIMEOUT_S = 30.0
"""The limit for the start. A sidecar that is not ready by then is stopped, too."""
RESTART_INTERVAL_S = 10.0
"""The pause between two starts, so that a sidecar that cannot run costs little."""
COMMAND = (sys.executable, "-m", "leaguesite.hosting.sidecar_process")
_ROOT = Path(__file__).parents[2]


class RenderingFailed(Exception):
    """A page could not be rendered; the text is the traceback of the process that tried."""


class Sidecar:
    """Starts and uses the sidecar, and restarts it if it has ended. Used from one thread until it is closed.

    Args:
        log_name: the name of the sidecar's log file.
        keep_shared: whether the sidecar keeps SHARED up to date, too.
        render_here: renders a page in this process, while no sidecar is ready.
        clock: monotonic seconds.
        timeout_s: how long the sidecar may take for a page, in seconds.
        command: the sidecar's command line; the number of an open descriptor is added.
    """

    def __init__(
        self,
        log_name: str,
        *,
        keep_shared: bool = False,
        render_here: Render = pages.fragments,
        clock: Callable[[], float] = time.monotonic,
        timeout_s: float = TIMEOUT_S,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._log_name = log_name
        self._keep_shared = keep_shared
        self._render_here = render_here
        self._clock = clock
        self._timeout_s = timeout_s
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._ready = self._closed = False
        self._start_at = self._ready_by = float("-inf")

    @property
    def keeps_shared(self) -> bool:
        """Whether the sidecar keeps SHARED up to date now."""
        return self._keep_shared and self._ready

    def fragments(self, key: PageKey, language: str, without: frozenset[str]) -> dict[str, str] | None:
        """Render the fragments of a page (:func:`matches.audience.pages.fragments`).

        Raises:
            RenderingFailed: the sidecar could not render the page.
            Exception: this process rendered the page, and failed.
        """
        try:
            connection = self._started()
            answer = None if connection is None else self._ask(connection, (tuple(key), language, without))
        except Exception as error:
            self._failed(error)
            answer = None
        if answer is None:
            return self._render_here(key, language, without)
        fragments, failure = answer
        if failure:
            raise RenderingFailed(failure)
        return fragments

    def tend(self) -> None:
        """Start the sidecar before the first page is needed, and notice that it is ready or has ended."""
        try:
            connection = self._started()
            if connection is not None and connection.poll(0):
                # Nothing was asked, so only the end of the connection can arrive: this raises EOFError.
                connection.recv()
        except Exception as error:
            self._failed(error)

    def close(self) -> None:
        """Stop the sidecar finally; may be called from any thread. The thread that uses it sees the connection end."""
        self._closed = True
        _kill(self._process)

    def _failed(self, error: Exception) -> None:
        if not self._closed:
            logger.warning(
                "the sidecar failed (%s: %s); this process does the sidecar's work until it runs again",
                *(type(error).__name__, error),
            )
        self.stop()

    def stop(self) -> None:
        """Stop the sidecar if it runs. It has nothing to save: an interrupted pass of SHARED is repeated."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        self._ready = False
        if connection is not None:
            connection.close()
        _kill(process)

    def _ask(self, connection: Connection[Any, Any], question: tuple[Any, ...]) -> tuple[dict[str, str] | None, str]:
        connection.send(question)
        if not connection.poll(self._timeout_s):
            raise TimeoutError(f"no answer within {self._timeout_s:g} s")
        fragments, failure = connection.recv()
        return fragments, failure

    def _started(self) -> Connection[Any, Any] | None:
        """The connection to the sidecar, which is started if it is time; None while no sidecar is ready."""
        if self._connection is None and not self._closed and self._clock() >= self._start_at:
            self._spawn()
        if not self._ready and self._connection is not None:
            if self._connection.poll(0):
                self._connection.recv()
                self._ready = True
            elif self._clock() >= self._ready_by:
                raise TimeoutError(f"not ready within {START_TIMEOUT_S:g} s")
        return self._connection if self._ready else None

    def _spawn(self) -> None:
        self._start_at = self._clock() + RESTART_INTERVAL_S
        # Options of the command line have changed settings that the sidecar reads from the environment.
        changed = {name: getattr(settings, name) for name in dir(settings) if name.startswith("LEAGUE_")}
        path = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        connection, sidecar_end = Pipe()
        try:
            self._process = subprocess.Popen(
                [*self._command, str(sidecar_end.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Ctrl-C must reach the web process only. When the web process ends, so does the connection.
                start_new_session=True,
                pass_fds=[sidecar_end.fileno()],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            )
            connection.send((changed, self._log_name, self._keep_shared))
        except OSError:
            connection.close()
            raise
        finally:
            sidecar_end.close()
        self._connection = connection
        self._ready_by = self._clock() + START_TIMEOUT_S


def _kill(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None:
        process.kill()
        process.wait()
