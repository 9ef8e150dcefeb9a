"""A site of several processes under test: web processes, conductors and referees, on real PostgreSQL and Redis."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from tests.e2e.servers import Redis, new_database
from tests.e2e.site import API_KEY, PASSWORD, ROOT, Instructor, free_port, wait_for

ENVIRONMENT = {
    "LEAGUE_API_KEY": API_KEY,
    "LEAGUE_ADMIN_PASSWORD": PASSWORD,
    "LEAGUE_SECRET_KEY": "secret-key-of-the-tests-which-is-long-enough-for-its-job",
    "LEAGUE_REFEREE_KEY": "referee-key-of-the-tests",
    # Most players of tests and benches know only the messages of a league, and would count a check's messages as such.
    "LEAGUE_CHECK_ON_REGISTRATION": "0",
}


class Process:
    """One ``manage.py`` command that runs until it is stopped."""

    def __init__(self, site: Scaled, name: str, *words: str) -> None:
        self.name = name
        self._log = (site.folder / f"{name}.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=site.environment, stdout=self._log, stderr=self._log
        )

    @property
    def runs(self) -> bool:
        """Whether the process is still running."""
        return self.process.poll() is None

    def log(self) -> str:
        """Everything that the process has written so far."""
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")

    def stop(self) -> int:
        """End the process by SIGTERM; its exit code."""
        if self.runs:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)

    def kill(self) -> None:
        """End the process by SIGKILL."""
        self.process.kill()
        self.process.wait()
        self._log.close()


class WebProcess(Process, Instructor):
    """``manage.py web``, and an instructor whose calls go to this process."""

    def __init__(self, site: Scaled, name: str) -> None:
        self.port = free_port()
        Instructor.__init__(self, f"http://127.0.0.1:{self.port}")
        Process.__init__(self, site, name, "web", "--port", str(self.port))

    def healthy(self) -> bool:
        """Whether the process answers requests."""
        assert self.runs, f"{self.name} ended: {self.log()[-3000:]}"
        try:
            return self.http.get("/health").status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        """End the process by SIGKILL."""
        self.http.close()
        super().kill()


class Scaled:
    """The processes of one site.

    Args:
        folder: for logs and the data folder.
        database: URL of an empty PostgreSQL database.
        redis: URL.
        options: environment variables of all processes, beside those that every site of this kind has.
    """

    def __init__(self, folder: Path, database: str, redis: str, **options: str) -> None:
        self.folder = folder
        self.environment = os.environ | ENVIRONMENT | {"DATABASE_URL": database, "REDIS_URL": redis} | options
        self.environment["LEAGUE_DATA"] = str(folder / "data")
        self.environment.pop("DJANGO_SETTINGS_MODULE", None)
        self.processes: list[Process] = []
        self._count = 0
        self.manage("prepare")

    def manage(self, *words: str) -> str:
        """Run a ``manage.py`` command to its end; returns what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _next(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def start_web(self, count: int = 1) -> list[WebProcess]:
        """Start web processes; returns when they answer requests."""
        started = [WebProcess(self, self._next("web")) for _ in range(count)]
        self.processes += started
        for one in started:
            wait_for(f"{one.name} is healthy", one.healthy)
        return started

    def start_conductor(self) -> Process:
        """Start a conductor."""
        return self._keep(Process(self, self._next("conductor"), "conductor"))

    def start_referee(self, web: WebProcess, matches_at_once: int = 32) -> Process:
        """Start a referee that calls one of the web processes."""
        name = self._next("referee")
        where = ["--league", f"{web.url}/mcp", "--port", str(free_port()), "--name", name]
        return self._keep(Process(self, name, "referee", *where, "--max-concurrent", str(matches_at_once)))

    def wait_for_referees(self, web: WebProcess, count: int) -> None:
        """Wait until ``count`` referees may be given a match."""

        def enough_are_there() -> bool:
            agents = web.get("/leagues/league_2025_even_odd/agents")
            return sum(one["kind"] == "referee" and one["state"] in ("REGISTERED", "ACTIVE") for one in agents) >= count

        wait_for(f"{count} referees have registered", enough_are_there)

    def _keep(self, process: Process) -> Process:
        self.processes.append(process)
        return process

    def logs(self) -> str:
        """The end of each process's log."""
        return "\n".join(f"--- {one.name}\n{one.log()[-2000:]}" for one in self.processes)

    def close(self) -> None:
        """Kill every process."""
        for one in self.processes:
            one.kill()


@contextmanager
def scaled_site(folder: Path, **options: str) -> Iterator[tuple[Scaled, Redis]]:
    """A prepared site without processes, and its Redis server; both are removed when the block ends."""
    with ExitStack() as stack:
        database = stack.enter_context(new_database())
        server = Redis(folder)
        stack.callback(server.kill)
        site = Scaled(folder, database, server.url, **options)
        stack.callback(site.close)
        yield site, server
