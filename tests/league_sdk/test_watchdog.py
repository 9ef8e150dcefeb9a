"""A process whose event loop stands still ends and says where it stood."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from league_sdk.watchdog import EXIT_HUNG, NOTIFY_VARIABLE
from tests.paths import ROOT

PROGRAM = """
import asyncio, re, sys, threading, time
from league_sdk.watchdog import Watchdog

def stand_still():
    {still}

async def main():
    watching = asyncio.create_task(Watchdog(0.3).run())
    await asyncio.sleep(0.9)
    print("alive", flush=True)
    stand_still()
    await asyncio.sleep(0)
    watching.cancel()
    print("done", flush=True)

asyncio.run(main())
"""
HOLDS_THE_INTERPRETER = 're.match("(a|aa)+$", "a" * 200 + "b")'
WAITS = "threading.Event().wait()"


def _run(still: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(still=still)],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT, env={**os.environ, **environ},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("still", "code"), [(WAITS, EXIT_HUNG), ("while True: pass", EXIT_HUNG), (HOLDS_THE_INTERPRETER, -signal.SIGPROF)]
)
def test_a_loop_that_stands_still_ends_its_process_which_says_where(still: str, code: int) -> None:
    done = _run(still)
    assert done.stdout == "alive\n"
    assert done.returncode in {code, -signal.SIGPROF}
    assert "in stand_still" in done.stderr


def test_a_process_that_was_stopped_for_long_goes_on() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(still="import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    # Longer than the loop may stand still; nothing of the process runs meanwhile.
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    process.send_signal(signal.SIGCONT)
    assert process.communicate(timeout=30)[0] == "alive\ndone\n"
    assert process.returncode == 0


def test_a_process_that_is_debugged_may_stand_still() -> None:
    debugged = "sys.settrace(lambda *_: None); sys._getframe().f_trace = lambda *_: None; time.sleep(1)"
    assert _run(debugged).stdout == "alive\ndone\n"


def test_systemd_is_told_that_the_process_is_ready_and_lives(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path)
        assert _run("pass", **{NOTIFY_VARIABLE: path}).returncode == 0
        assert [systemd.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
