"""The deployment of docs/deployment.md on nine machines, with the commands of its units and its proxy's own files."""

from __future__ import annotations

import asyncio
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psycopg
import redis

from tests.chaos.servers import NotInstalled, initdb_path
from tests.machines.network import SUBNET, Machine, Network
from tests.paths import ROOT

MACHINES = {
    "proxy": 1,
    "db": 2,
    "web1": 11,
    "web2": 12,
    "conductor1": 15,
    "conductor2": 16,
    "referee1": 21,
    "referee2": 22,
    "players": 31,
    "router": 41,
    "desk": 51,
}
"""Every machine with the last byte of its address. Behind ``router`` is ``home``, whose players dial out."""
API_KEY = "key-of-the-machines"
PLAYERS = 5
"""Players on each of the two machines that have some."""
THINK_S = 0.3
DEPLOY = ROOT / "deploy"
READY_S = 60.0
DISKS_MB = {"web1": 64, "conductor1": 64, "db": 600}
"""Machines whose disk can be full: their data folders have a file system of this size."""
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

T = TypeVar("T")


def require_servers() -> None:
    """Check that the programs are installed which the deployment consists of.

    Raises:
        NotInstalled: one is missing.
    """
    for program in ("redis-server", "haproxy"):
        if shutil.which(program, path=_PATH) is None:
            raise NotInstalled(f"{program} is not installed (apt-get install {program})")
    if initdb_path() is None:
        raise NotInstalled("PostgreSQL is not installed")


class Bed:
    """The machines with their processes.

    Args:
        folder: for data and logs; other users must be able to pass through it.
    """

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder, self.network, self.machines = folder, network, network.machines
        self.url = f"http://{self.machines['proxy'].address}"
        folder.chmod(0o755)
        self._disks = {name: folder / ("postgres" if name == "db" else name) for name in DISKS_MB}
        for name, place in self._disks.items():
            place.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISKS_MB[name]}m", "none", place], check=True)
        self._clock_library = self._build_clock()
        data = f"postgres://league@{SUBNET}.2:5432/league"
        self._site = self._environment(
            "site",
            DATABASE_URL=data,
            REDIS_URL=f"redis://{SUBNET}.2:6379/0",
            LEAGUE_PUBLIC_URL=self.url,
            # HAProxy asks for /health by the first name, Prometheus by the addresses.
            LEAGUE_ALLOWED_HOSTS=f"localhost,{SUBNET}.11,{SUBNET}.12",
            LEAGUE_TRUSTED_PROXIES=f"{SUBNET}.1/32",
            LEAGUE_OWN_HOSTS=",".join(f"{SUBNET}.{number}" for number in (1, 2, 11, 12, 15, 16)),
            LEAGUE_REFUSED_PORTS="80,5432,6379,8000,9100",
            LEAGUE_SECRET_KEY="secret-of-the-machines-which-is-long-enough",
            LEAGUE_REFEREE_KEY="referee-key-of-the-machines",
            LEAGUE_API_KEY=API_KEY,
            LEAGUE_ADMIN_PASSWORD="password-of-the-machines",
        )
        self._install_database()
        self._install_proxy()
        for name in ("web1", "web2"):
            self._manage(name, "web", "--host", self.machines[name].address, "--port", "8000")
        for name in ("conductor1", "conductor2"):
            self._manage(name, "conductor", "--host", self.machines[name].address, "--port", "9100")
        for name in ("referee1", "referee2"):
            self._install_referee(name)

    def _environment(self, name: str, **values: str) -> dict[str, str]:
        """The whole environment of a machine's processes."""
        return {
            "PATH": _PATH,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LEAGUE_DATA": str(self.folder / name),
            **values,
        }

    def _build_clock(self) -> Path | None:
        """What makes a machine's clock wrong; None without a C compiler."""
        compiler, library = shutil.which("cc"), self.folder / "clock.so"
        if compiler is None:
            return None
        source = Path(__file__).with_name("clock.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
        return library

    def set_clock(self, name: str, seconds: int) -> bool:
        """Let a machine's clock be so many seconds ahead, or behind; returns whether that can be done here."""
        # Written into the file that its processes have mapped.
        with (self.folder / f"{name}.clock").open("r+b") as file:
            file.write(struct.pack("q", seconds))
        return self._clock_library is not None

    def fill_disk(self, name: str) -> None:
        """Leave no room on a machine's disk."""
        with (self._disks[name] / "full").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1024 * 1024))

    def empty_disk(self, name: str) -> None:
        """Make room again."""
        (self._disks[name] / "full").unlink()

    def _manage(self, name: str, *words: str) -> None:
        environment = self._site | {"LEAGUE_DATA": str(self.folder / name)}
        self._add(name, [sys.executable, "manage.py", *words], environment)

    def _add(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        """The process of a machine whose clock can be wrong."""
        clock = self.folder / f"{name}.clock"
        clock.write_bytes(struct.pack("q", 0))
        if self._clock_library is not None:
            environment = environment | {"LD_PRELOAD": str(self._clock_library), "CLOCK_FILE": str(clock)}
        self.machines[name].add(name, command, environment, self.folder)

    def _install_referee(self, name: str) -> None:
        machine = self.machines[name]
        # As in leaguesite-referee@.service; its environment has no secret but its own.
        command = ["referee", "--league", f"{self.url}/mcp", "--host", "0.0.0.0", "--port", "8001"]
        where = ["--endpoint", f"http://{machine.address}:8001/mcp", "--name", f"Referee {machine.address}:8001"]
        environment = self._environment(name, LEAGUE_REFEREE_KEY=self._site["LEAGUE_REFEREE_KEY"])
        self._add(name, [sys.executable, "manage.py", *command, *where], environment)

    def _install_database(self) -> None:
        machine, initdb = self.machines["db"], initdb_path()
        assert initdb is not None
        home = self._disks["db"]
        data = home / "data"
        shutil.chown(home, "postgres")
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        options = ["-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run([*user, initdb, *options], cwd=home, check=True, capture_output=True)
        with (data / "pg_hba.conf").open("a", encoding="utf-8") as hba:
            hba.write(f"host all all {SUBNET}.0/24 trust\n")
        options = ["-D", str(data), "-h", machine.address, "-c", "fsync=off", "-c", "unix_socket_directories="]
        postgres = [
            *user,
            str(Path(initdb).parent / "postgres"),
            *options,
            "-c",
            "max_connections=200",
            "-c",
            "max_wal_size=128MB",
        ]
        machine.add("postgres", postgres, {"PATH": _PATH, "LC_ALL": "C.UTF-8"}, home)
        options = ["--bind", machine.address, "--protected-mode", "no", "--save", "", "--appendonly", "no"]
        machine.add("redis", ["redis-server", *options], {"PATH": _PATH}, self.folder)

    def _install_proxy(self) -> None:
        files = self.folder / "proxy"
        files.mkdir()
        sources = [DEPLOY / "haproxy" / "leaguesite.cfg", DEPLOY / "haproxy" / "servers-local.cfg"]
        for source in sources:
            text = source.read_text(encoding="utf-8")
            text = text.replace("127.0.0.1:8000", f"{SUBNET}.11:8000").replace("127.0.0.1:8010", f"{SUBNET}.12:8000")
            (files / source.name).write_text(text, encoding="utf-8")
        command = ["haproxy", "-W", "-db", "-f", str(files)]
        self.machines["proxy"].add("proxy", command, {"PATH": _PATH}, self.folder)

    # Life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start every machine, and return when leagues can be played."""
        self.machines["db"].start()
        await until("PostgreSQL answers", lambda: self.machines["db"].inside(self._make_database))
        await self._prepare()
        for name in MACHINES:
            if name != "db":
                self.machines[name].start()
        await until("two referees have registered", self._has_referees)

    def _make_database(self) -> bool:
        where = f"host={self.machines['db'].address} user=postgres connect_timeout=2"
        try:
            with psycopg.connect(f"{where} dbname=postgres", autocommit=True) as server:
                server.execute("CREATE ROLE league LOGIN")
                server.execute("CREATE DATABASE league OWNER league")
        except psycopg.OperationalError:
            return False
        return True

    async def _prepare(self) -> None:
        command = self.machines["web1"].command(sys.executable, "manage.py", "prepare")
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=self._site, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        printed, _ = await process.communicate()
        if process.returncode:
            raise RuntimeError(printed.decode()[-3000:])

    async def _has_referees(self) -> bool:
        try:
            agents = await self.api("GET", "/leagues/league_2025_even_odd/agents")
        except (httpx.HTTPError, RuntimeError):
            return False
        there = [one for one in agents if one["kind"] == "referee" and one["state"] in ("REGISTERED", "ACTIVE")]
        return len(there) == 2

    async def close(self) -> None:
        """Kill every process."""
        for machine in self.machines.values():
            await machine.kill()
        umount = await asyncio.create_subprocess_exec("umount", "--lazy", *self._disks.values())
        assert await umount.wait() == 0

    # What an instructor does ------------------------------------------------------------------

    async def api(self, method: str, path: str, body: Any = None) -> Any:
        """Call the site's API through the proxy from the instructor's machine.

        Raises:
            RuntimeError: the answer was no success.
            httpx.HTTPError: nobody answered.
        """

        def call() -> Any:
            headers = {"Authorization": f"Bearer {API_KEY}"}
            answer = httpx.request(
                method, f"{self.url}/api{path}", json=body, headers=headers, timeout=10, trust_env=False
            )
            if not answer.is_success:
                raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
            return answer.json()

        return await self.machines["desk"].inside(call)

    async def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]] | None:
        """The rows of a query, asked on the database's own machine; None while PostgreSQL does not answer."""

        def read() -> list[tuple[Any, ...]] | None:
            where = f"host={self.machines['db'].address} user=postgres dbname=league connect_timeout=2"
            try:
                with psycopg.connect(where) as connection:
                    return connection.execute(statement, values).fetchall()
            except psycopg.OperationalError:
                return None

        return await self.machines["db"].inside(read)

    async def flush_redis(self) -> None:
        """Let Redis forget everything."""

        def flush() -> None:
            with redis.Redis(host=self.machines["db"].address) as client:
                client.flushall()

        await self.machines["db"].inside(flush)

    async def run(self, machine: Machine, *words: str) -> tuple[int, str]:
        """Run a Python module on a machine; returns its exit code and what it printed."""
        environment = self._environment(machine.name)
        process = await asyncio.create_subprocess_exec(
            *machine.command(sys.executable, "-m", *words),
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        printed, _ = await process.communicate()
        return process.returncode or 0, printed.decode()

    def seat(self, league: str) -> None:
        """Start the players of a league: some that are called, and some behind a router, which dial out."""
        for name, ways in (
            ("players", ["--host", self.machines["players"].address, "--listen"]),
            ("home", ["--dial-out"]),
        ):
            machine = self.machines[name]
            where = ["--league", f"{self.url}/mcp", "--league-id", league, "--name", name, "--port", "8101"]
            play = ["--count", str(PLAYERS), "--think", str(THINK_S), "--game", "tic_tac_toe"]
            command = [sys.executable, "-m", "league_sdk.player", *where, *play, *ways]
            machine.add(f"{league}-{name}", command, self._environment(f"{league}-{name}"), self.folder).start()

    async def unseat(self) -> None:
        """End the players of the last league."""
        for name in ("players", "home"):
            await self.machines[name].kill()
            self.machines[name].units.clear()


async def until(what: str, read: Callable[[], Any], patience_s: float = READY_S) -> None:
    """Wait until an asynchronous condition holds.

    Raises:
        TimeoutError: it did not within ``patience_s``.
    """
    if not await holds_within(patience_s, read):
        raise TimeoutError(f"{what}: not within {patience_s:g} s")


async def holds_within(patience_s: float, read: Callable[[], Any]) -> bool:
    """Wait until an asynchronous condition holds; whether it did within ``patience_s``."""
    end = time.monotonic() + patience_s
    while not (seen := await read()) and time.monotonic() < end:  # noqa: ASYNC110 - machines have no event
        await asyncio.sleep(0.3)
    return bool(seen)
