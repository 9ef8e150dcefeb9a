"""What a site stands on in a run: a disk that can be full, Redis and PostgreSQL of its own that can be restarted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

from tests.e2e import servers
from tests.e2e.site import free_port

MOUNT_MIB = 64
FILLER = "filler"


class NotHere(Exception):
    """A program that is needed is not on this machine; the sentence says which."""


class Disk:
    """The data folder, on a disk of its own where we may mount one; elsewhere files can only be kept from growing.

    Args:
        folder: the data folder, made here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={MOUNT_MIB}m", "chaos", str(folder)]
        self.own = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0

    def fill(self) -> None:
        """Leave no room. The log of SQLite is emptied first: within it there would be some for a while."""
        # Where it is in use all the time the disk is full a little later.
        path = self.folder / "league.sqlite3"
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=1)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        block = bytes(64 * 1024)
        with (self.folder / FILLER).open("wb", buffering=0) as file:
            for size in (len(block), 512):
                try:
                    while file.write(block[:size]) == size:
                        continue
                except OSError:
                    continue

    def clear(self) -> None:
        """There is room again."""
        (self.folder / FILLER).unlink(missing_ok=True)

    def close(self) -> None:
        """Give it back."""
        if self.own:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


def must_be_here() -> None:
    """What the scaled site needs.

    Raises:
        NotHere: and what is missing.
    """
    if shutil.which("redis-server") is None:
        raise NotHere("redis-server is not installed")
    if _initdb() is None:
        raise NotHere("PostgreSQL is not installed")


def _initdb() -> str | None:
    return shutil.which("initdb") or max(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


class Redis(servers.Redis):
    """A Redis that keeps nothing, and is restarted."""

    async def restart(self, seconds: float) -> None:
        """kill -9, and start again after so many seconds."""
        self.kill()
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.start)


class Postgres:
    """A PostgreSQL that forgets nothing when it is killed (only when the machine is)."""

    def __init__(self, folder: Path) -> None:
        found = _initdb()
        assert found is not None
        self._bin, self.port = Path(found).parent, free_port()
        self._home = folder / "postgres"
        self._home.mkdir()
        folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(self._home, "postgres")
        data = str(self._home / "data")
        self._run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-h 127.0.0.1 -p {self.port} -c unix_socket_directories= -c fsync=off -c max_connections=200"
        self._control = ["pg_ctl", "-D", data, "-l", str(self._home / "log"), "-w", "-o", options]
        self.start()

    def start(self) -> None:
        """Start it, again."""
        self._run(*self._control, "start")

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def _run(self, program: str, *words: str) -> None:
        # It does not run as root.
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*user, str(self._bin / program), *words]
        done = subprocess.run(command, cwd=self._home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            raise NotHere(f"PostgreSQL would not {words[-1]}: {done.stderr.decode()[-300:]}")

    async def restart(self, seconds: float) -> None:
        """End it as a crash does, and start again after so many seconds."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._run, *self._control[:3], "-m", "immediate", "stop")
        await asyncio.sleep(seconds)
        await loop.run_in_executor(None, self.start)

    def kill(self) -> None:
        """End it."""
        self._run(*self._control[:3], "-m", "immediate", "stop")
