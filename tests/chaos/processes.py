"""Runs the processes of a site: starts and restarts them, causes faults from outside, and ends them."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import select
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos import inside, plan
from tests.paths import ROOT

RESTART_AFTER_S = 0.2


class Unit:
    """One process that is kept running, as systemd keeps it (``Restart=always``).

    Args:
        name: the name of its log.
        command: its command line.
        environment: its whole environment.
        folder: where its log is written.
    """

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command, self._environment = command, environment
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start it, and restart it whenever it ends."""
        self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        with self.log.open("ab") as log:
            while True:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    cwd=ROOT,
                    env=self._environment,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
                await self._process.wait()
                await asyncio.sleep(RESTART_AFTER_S)

    def give_up(self) -> None:
        """Do not restart it any more."""
        if self._keeper is not None:
            self._keeper.cancel()

    async def end(self) -> None:
        """Kill it, for good, or until the next ``start``."""
        self.give_up()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@dataclass(slots=True)
class Target:
    """A process that gets faults. ``pidfd`` refers to this process even if its pid is reused."""

    role: str
    number: int
    pid: int
    pidfd: int
    since: float

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal; returns whether the process was still there."""
        if not self.runs():
            return False
        try:
            signal.pidfd_send_signal(self.pidfd, number)
        except ProcessLookupError:
            return False
        return True

    def runs(self) -> bool:
        """Whether it runs and is no zombie; a pidfd becomes readable when its process ends."""
        if self.pidfd < 0:
            return False
        ended = select.poll()
        ended.register(self.pidfd, select.POLLIN)
        if not ended.poll(0):
            return True
        os.close(self.pidfd)
        self.pidfd = -1
        return False


class Journal:
    """Reads the journal of the processes under test, counts their faults, and signals those that run.

    Args:
        folder: the folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / inside.JOURNAL
        self._path.touch()
        (folder / "numbers").mkdir()
        self._read = 0
        self._targets: dict[tuple[str, int], Target] = {}
        self._stopped: set[asyncio.Task[None]] = set()
        self.faults: Counter[tuple[str, str, str]] = Counter()
        """The number of faults by kind of process, kind of fault, and point."""
        self.hit_places: set[tuple[str, str, str]] = set()
        """The places where faults have happened: kind of process, point and detail."""
        self.accepted: list[dict[str, Any]] = []
        self.last_fault = 0.0
        """The time at which the last fault ended, by time.time()."""

    @property
    def kills(self) -> int:
        """How many processes and servers have been killed."""
        return sum(count for (_, kind, _), count in self.faults.items() if kind == plan.KILL)

    async def follow(self) -> None:
        """Read new lines until cancelled."""
        while True:
            self.read_new_lines()
            await asyncio.sleep(0.03)

    def read_new_lines(self) -> None:
        """Read new lines."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            raw = file.read()
        whole = raw[: raw.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))
        self._targets = {key: target for key, target in self._targets.items() if target.runs()}

    def _take(self, line: dict[str, Any]) -> None:
        if line["event"] == "start":
            fd = self._open(line["pid"])
            if fd is not None:
                key = line["role"], line["number"]
                self._targets[key] = Target(*key, line["pid"], fd, line["at"])
        elif line["event"] == "accepted":
            self.accepted.append(line)
        elif line["event"] == "fault":
            detail = line["detail"]
            self.count(line["role"], line["fault"], line["point"], at=line["at"], detail=detail)
            target = self._targets.get((line["role"], line["number"]))
            if line["fault"] == plan.STOP and target is not None:
                self._continue_later(target, line["seconds"])
            elif line["fault"] in (plan.DELAY, plan.LOSE):
                self.last_fault = max(self.last_fault, line["at"] + line["seconds"])

    def _open(self, pid: int) -> int | None:
        """A pidfd of a process of this run; None if it has ended (another process may have its pid now)."""
        try:
            fd = os.pidfd_open(pid)
            is_ours = f"CHAOS_FOLDER={self._folder}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return None
        if not is_ours:
            os.close(fd)
        return fd if is_ours else None

    def count(self, role: str, kind: str, point: str, *, at: float, detail: str = "") -> None:
        """Count a fault that has happened."""
        self.faults[role, kind, point] += 1
        self.hit_places.add((role, point, detail))
        self.last_fault = max(self.last_fault, at)

    def record(self, role: str, kind: str, *, seconds: float = 0.0, pid: int = 0) -> None:
        """Count a timed fault, and write it to the journal."""
        inside.note(self._folder, event="timed fault", role=role, fault=kind, seconds=seconds, pid=pid)
        self.count(role, kind, "the clock", at=time.time())

    def cut(self, point: str) -> None:
        """Count a cut of a player's line, and write it to the journal."""
        inside.note(self._folder, event="cut", role="line", fault=plan.CUT, point=point)
        self.count("line", plan.CUT, point, at=time.time())

    def targets(self, role: str) -> list[Target]:
        """The running processes of a kind."""
        return [one for one in self._targets.values() if one.role == role and one.runs()]

    def stop(self, target: Target, seconds: float) -> None:
        """Send SIGSTOP, and SIGCONT after this many seconds."""
        if target.signal(signal.SIGSTOP):
            self.record(target.role, plan.STOP, seconds=seconds, pid=target.pid)
            self._continue_later(target, seconds)

    def _continue_later(self, target: Target, seconds: float) -> None:
        task = asyncio.create_task(self._continue(target, seconds))
        self._stopped.add(task)
        task.add_done_callback(self._stopped.discard)

    async def _continue(self, target: Target, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if target.signal(signal.SIGCONT):
            self.last_fault = max(self.last_fault, time.time())

    async def all_go_on(self) -> None:
        """Wait until no process is stopped (SIGSTOP) any more."""
        while self._stopped:
            await asyncio.gather(*self._stopped)

    def limit_files(self, max_bytes: int) -> None:
        """Limit the size of files that processes may write (RLIMIT_FSIZE); -1 lifts the limit."""
        for role in plan.POINTS:
            for target in self.targets(role):
                try:
                    _, hard = resource.prlimit(target.pid, resource.RLIMIT_FSIZE)
                    resource.prlimit(target.pid, resource.RLIMIT_FSIZE, (max_bytes, hard))
                except ProcessLookupError:
                    continue

    def kill_all(self) -> None:
        """Kill every process that gets faults and is left, such as a host's referee."""
        self.read_new_lines()
        for role in plan.POINTS:
            for target in self.targets(role):
                target.signal(signal.SIGKILL)
