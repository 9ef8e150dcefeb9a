"""The two ways of running a site that are put under test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.chaos import rows
from tests.chaos.processes import ROOT, Unit
from tests.chaos.servers import Disk, Postgres, Redis, require_programs
from tests.e2e.site import REFEREE_PORTS, free_port

API_KEY = "key-of-the-chaos"
SQLITE, SCALED = "sqlite", "scaled"
_HOOK = Path(__file__).resolve().parent / "hook"


class Site:
    """The base class of both sites.

    Args:
        folder: the folder of the run.
        seed: the seed of the run.
    """

    mode = ""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.units: list[Unit] = []
        self.addresses: list[str] = []
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LEAGUE_", "CHAOS_", "DJANGO_")) and name not in ("DATABASE_URL", "REDIS_URL")
        } | {
            "PYTHONPATH": os.pathsep.join([str(_HOOK), str(ROOT)]),
            "PYTHONUNBUFFERED": "1",
            "LEAGUE_CHECK_ON_REGISTRATION": "0",
            "CHAOS_FOLDER": str(folder),
            "CHAOS_SEED": str(seed),
            # Without this the host would not pass these two on to its referees.
            "LEAGUE_PASS_ON": "CHAOS_FOLDER, CHAOS_SEED",
            "LEAGUE_API_KEY": API_KEY,
            "LEAGUE_ADMIN_PASSWORD": "password-of-the-chaos",
            "LEAGUE_REFEREE_KEY": "referee-key-of-the-chaos",
            "LEAGUE_SECRET_KEY": "secret-of-the-chaos",
        }
        self.database: rows.Database

    def start(self) -> None:
        """Start every process."""
        for unit in self.units:
            unit.start()

    async def close(self) -> None:
        """End every process of the site."""
        for unit in self.units:
            await unit.end()

    def _add(self, name: str, *words: str) -> None:
        self.units.append(Unit(name, [sys.executable, "manage.py", *words], self.environment, self.folder))

    def _add_referee(self, number: int, address: str) -> None:
        port = str(free_port())
        self._add(
            f"referee-{number}", "referee", "--league", f"{address}/mcp", "--port", port, "--name", f"Chaos {number}"
        )


class SqliteSite(Site):
    """``manage.py host`` with two referees of its own, and two more in processes of their own."""

    mode = SQLITE

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self.disk = Disk(folder / "data")
        self.environment["LEAGUE_DATA"] = str(self.disk.folder)
        port = free_port()
        self.addresses = [f"http://127.0.0.1:{port}"]
        own = str(free_port(together=REFEREE_PORTS))
        self._add("host", "host", "--port", str(port), "--referees", "2", "--referee-port", own, "--no-demo")
        for number in (1, 2):
            self._add_referee(number, self.addresses[0])
        self.database = rows.Sqlite(self.disk.folder / "league.sqlite3")

    async def close(self) -> None:
        await super().close()
        self.disk.close()


class ScaledSite(Site):
    """PostgreSQL, Redis, two web processes, two conductors, four referees."""

    mode = SCALED

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        require_programs()
        self.postgres, self.redis = Postgres(folder), Redis(folder)
        self.environment |= {
            "DATABASE_URL": self.postgres.url,
            "REDIS_URL": self.redis.url,
            "LEAGUE_DATA": str(folder / "data"),
        }
        (folder / "data").mkdir()
        # No faults in `prepare`: people run and watch it.
        without_faults = {name: value for name, value in self.environment.items() if not name.startswith("CHAOS_")}
        subprocess.run(
            [sys.executable, "manage.py", "prepare"], cwd=ROOT, env=without_faults, check=True, capture_output=True
        )
        for number in (1, 2):
            port = free_port()
            self.addresses.append(f"http://127.0.0.1:{port}")
            self._add(f"web-{number}", "web", "--port", str(port))
            self._add(f"conductor-{number}", "conductor")
        for number in range(1, 5):
            self._add_referee(number, self.addresses[number % 2])
        self.database = rows.Postgresql(self.postgres.url)

    async def close(self) -> None:
        await super().close()
        self.postgres.kill()
        self.redis.kill()
