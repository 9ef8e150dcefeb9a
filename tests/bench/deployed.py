"""The documented processes on this machine: HAProxy, web, conductor and referee processes, on PostgreSQL and Redis."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.bench.processes import PATIENCE_S, TICKS, Process, cpu_s
from tests.bench.rows import Postgres
from tests.e2e.haproxy import haproxy
from tests.e2e.scaled import Scaled, scaled_site
from tests.e2e.site import Instructor, free_port, wait_for

UNLIMITED = "1000000 per 1 second"


def used_s(pid: int) -> float:
    """Processor seconds of a process so far, without its children; 0 for one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int) -> float:
    """Megabytes of memory of a process and its running children: what is their own, and their share of the rest."""
    process = Path(f"/proc/{pid}")
    lines = process.joinpath("smaps_rollup").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    tasks = process.joinpath("task").iterdir()
    children = [int(child) for task in tasks for child in task.joinpath("children").read_text().split()]
    return own / 1000 + sum(map(memory_mb, children))


class Deployed(Instructor):
    """The running processes, and an instructor whose calls go through HAProxy.

    Attributes:
        groups: the process ids of each part; a web process with its sidecar, a referee with its door.
    """

    def __init__(self, folder: Path, url: str, site: Scaled) -> None:
        super().__init__(url)
        self.http.timeout = PATIENCE_S
        self.folder, self.site = folder, site
        self.groups: dict[str, list[int]] = {}
        self._database = psycopg.connect(site.environment["DATABASE_URL"], autocommit=True)
        self._sessions: dict[int, float] = {}

    def rows(self, query: str, *values: Any) -> list[Any]:
        """The rows of a query, read from the database and not through the site."""
        return self._database.execute(query, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[Postgres]:
        """A connection to the database, to write rows that no site has to make for the measuring."""
        with psycopg.connect(self.site.environment["DATABASE_URL"], autocommit=True) as connection:
            yield Postgres(connection)

    def cpu_s(self) -> dict[str, float]:
        """Processor seconds of each part so far; ``database`` has those of the sessions that were seen."""
        sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
        self._sessions |= {pid: used_s(pid) for (pid,) in self.rows(sql)}
        used = {name: sum(map(cpu_s, pids)) for name, pids in self.groups.items()}
        return used | {"database": sum(self._sessions.values())}

    def used_s(self, before: dict[str, float]) -> dict[str, float]:
        """Processor seconds of each part since :meth:`cpu_s` returned ``before``."""
        return {name: now - before.get(name, 0) for name, now in self.cpu_s().items()}

    def memory_mb(self) -> dict[str, float]:
        """Megabytes of memory of each part, of all its processes together."""
        return {name: sum(map(memory_mb, pids)) for name, pids in self.groups.items()}

    def database_mb(self) -> float:
        """The size of the database."""
        return float(self.rows("SELECT pg_database_size(current_database())")[0][0]) / 1e6

    def let_in(self, league: str) -> None:
        """Let any number of players of this machine into a league."""
        self.post(f"/leagues/{league}/crowd/let_in", {"address": "127.0.0.1"})

    def close(self) -> None:
        """End the connections."""
        self._database.close()
        self.http.close()


@contextmanager
def deployed(
    folder: Path, web: int = 2, conductors: int = 2, referees: int = 2, matches_at_once: int = 32, **options: str
) -> Iterator[Deployed]:
    """A running site with a fresh database and a fresh Redis; all of it ends with the block.

    Args:
        matches_at_once: of each referee.
        options: environment variables of its processes.
    """
    port = free_port()
    trusted = {"LEAGUE_PUBLIC_URL": f"http://127.0.0.1:{port}", "LEAGUE_TRUSTED_PROXIES": "127.0.0.1/32"}
    unlimited = {"LEAGUE_REGISTRATIONS_PER_ADDRESS": UNLIMITED}
    with ExitStack() as stack:
        site, redis = stack.enter_context(scaled_site(folder, **trusted, **unlimited, **options))
        conducting = [site.start_conductor() for _ in range(conductors)]
        webs = site.start_web(web)
        ports = [one.port for one in webs] + [free_port()]
        proxy = stack.enter_context(haproxy(folder, port, ports[:2]))
        made = Deployed(folder, f"http://127.0.0.1:{port}", site)
        stack.callback(made.close)
        judging = [site.start_referee(webs[n % web], matches_at_once) for n in range(referees)]
        site.wait_for_referees(webs[0], referees)
        made.groups = {
            "web": [one.process.pid for one in webs],
            **{f"conductor {n}": [one.process.pid] for n, one in enumerate(conducting, 1)},
            "referees": [one.process.pid for one in judging],
            "proxy": [proxy.pid],
            "redis": [redis.process.pid],
        }
        # The agents of each league have paths of their own at one port, so no agent is in two matches at once.
        made.post("/gateways", {"host": "127.0.0.1"})
        yield made


@contextmanager
def playing(bench: Deployed, count: int, *leagues: str) -> Iterator[tuple[Process, str]]:
    """``count`` players of each ``LEAGUE_ID=KIND`` (``tests.bench.speakers``), all of them in one process.

    Gives the process, and the URL at which it tells what its players were sent.
    """
    words = ["-m", "tests.bench.speakers", "--site", bench.url, "--count", str(count), "--at-once", "4", *leagues]
    players = Process("players", bench.folder / f"players {leagues[0]}.log", *words)
    try:
        wait_for("the players have registered", lambda: players.says("READY"), PATIENCE_S)
        yield players, shlex.split(players.log.read_text())[-1]
    finally:
        players.stop()


def load() -> str:
    """How busy the machine is: what others do makes times of the clock longer, and processor times hardly."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
