"""What a site needs in a run: a disk that can be filled, and its own Redis and PostgreSQL that can be restarted."""

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


class NotInstalled(Exception):
    """A program that is needed is not installed here; the message says which."""


class Disk:
    """The data folder, on a disk of its own if we may mount one (``own``), else only file sizes can be limited.

    Args:
        folder: the data folder, made here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={MOUNT_MIB}m", "chaos", str(folder)]
        self.own = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0

    def fill(self) -> None:
        """Fill the disk; SQLite's write-ahead log is emptied first, so that there is no room in it either."""
        # If the database is busy the log is not emptied, and writing fails a little later.
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
        """Make room again."""
        (self.folder / FILLER).unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount the disk."""
        if self.own:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


def require_programs() -> None:
    """Check that the programs which the scaled site needs are installed.

    Raises:
        NotInstalled: one is missing.
    """
    if shutil.which("redis-server") is None:
        raise NotInstalled("redis-server is not installed")
    if initdb_path() is None:
        raise NotInstalled("PostgreSQL is not installed")


def initdb_path() -> str | None:
    """The newest initdb of this machine, if there is one."""
    return shutil.which("initdb") or max(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


class Redis(servers.Redis):
    """A Redis that saves nothing, and can be restarted."""

    async def restart(self, seconds: float) -> None:
        """Kill it, and start it again after this many seconds."""
        self.kill()
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.start)


class Postgres:
    """A PostgreSQL that keeps its data when it is killed (but not if the machine crashes: fsync is off)."""

    def __init__(self, folder: Path) -> None:
        initdb = initdb_path()
        assert initdb is not None
        self._bin, self.port = Path(initdb).parent, free_port()
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
        """Start it."""
        self._run(*self._control, "start")

    def processes(self) -> list[int]:
        """The ids of the server's processes, the first of which started the others."""
        first = (self._home / "data" / "postmaster.pid").read_text().split()[0]
        return [int(first), *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def _run(self, program: str, *words: str) -> None:
        # PostgreSQL refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*user, str(self._bin / program), *words]
        done = subprocess.run(command, cwd=self._home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            # No NotInstalled, which skips a test or ends a run as one that cannot be played.
            raise RuntimeError(f"{program} {words[-1]}: {done.stderr.decode()[-300:]}")

    async def restart(self, seconds: float) -> None:
        """Stop it as in a crash, and start it again after this many seconds."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._run, *self._control[:3], "-m", "immediate", "stop")
        await asyncio.sleep(seconds)
        await loop.run_in_executor(None, self.start)

    def kill(self) -> None:
        """Stop it as in a crash."""
        self._run(*self._control[:3], "-m", "immediate", "stop")
