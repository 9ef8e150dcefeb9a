"""Ends a process whose event loop stands still, so that whoever started it starts it again (decision 35)."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from types import FrameType

HUNG_AFTER_S = 20.0
"""For this long the event loop of a process may stand still."""
TURNS_PER_LIMIT = 10
"""How often the loop shows within this time that it turns."""
EXIT_HUNG = 70
"""How a process ends whose loop stood still while other threads ran."""
NOTIFY_VARIABLE = "NOTIFY_SOCKET"


class Watchdog:
    """Watches the loop that it is started on, by two clocks that stand still with the process.

    A thread counts its own ticks: a process that was stopped, or a machine that slept, has none meanwhile. Code that
    holds the interpreter, such as a regular expression that never returns, keeps that thread from running as well; it
    uses the processor, so a timer of processor time ends the process instead.

    Args:
        after_s: for how many seconds, of either clock, the loop may stand still.
    """

    def __init__(self, after_s: float = HUNG_AFTER_S) -> None:
        self._after_s = after_s
        self._ticks = 0
        self._watched = threading.get_ident()
        # Systemd hears of the process that it has started, and of none of its children.
        self._address = os.environ.pop(NOTIFY_VARIABLE, "")

    async def run(self) -> None:
        """Watch until cancelled; to be run as a task of the loop that is watched."""
        ended = threading.Event()
        # All threads are written to standard error; then the signal ends the process, as by default.
        faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
        threading.Thread(target=self._watch, args=(ended,), name="watchdog", daemon=True).start()
        self._tell_systemd("READY=1")
        try:
            while True:
                self._ticks = 0
                signal.setitimer(signal.ITIMER_PROF, self._after_s)
                self._tell_systemd("WATCHDOG=1")
                await asyncio.sleep(self._after_s / TURNS_PER_LIMIT)
        finally:
            ended.set()
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _watch(self, ended: threading.Event) -> None:
        # Not by the time between two ticks: that passes while the process is stopped, too.
        while not ended.is_set():
            time.sleep(self._after_s / TURNS_PER_LIMIT)
            self._ticks += 1
            if self._ticks > TURNS_PER_LIMIT and not self._is_debugged():
                self._end()

    def _is_debugged(self) -> bool:
        """Whether somebody steps through what runs on the loop."""
        frame: FrameType | None = sys._current_frames().get(self._watched)
        while frame is not None and frame.f_trace is None:
            frame = frame.f_back
        return frame is not None

    def _end(self) -> None:
        sys.stderr.write(f"The event loop has stood still for {self._after_s:g} s; this process ends. It stood here:\n")
        sys.stderr.flush()
        faulthandler.dump_traceback(all_threads=True)
        os._exit(EXIT_HUNG)

    def _tell_systemd(self, state: str) -> None:
        """Send one datagram to systemd, if it has started this process and wants to know."""
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
            notice.setblocking(False)
            try:
                # An address that begins with @ is abstract.
                notice.sendto(state.encode(), self._address.replace("@", "\0", 1))
            except OSError as error:
                sys.stderr.write(f"systemd took no {state}: {error}\n")


def watch(loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    """Watch a running loop from its own thread; returns the task, to be cancelled when the process ends."""
    return loop.create_task(Watchdog().run())
