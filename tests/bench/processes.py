"""The processes of one run: the host, its referees, and one process for all players. All end with the run."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.bench.part import until
from tests.e2e.scaled import ENVIRONMENT
from tests.e2e.site import ROOT, Instructor, free_port, wait_for

LEAGUE = "league_2025_even_odd"
REFEREES = 2
REGISTERING_S, PATIENCE_S = 300.0, 1200.0
"""How long the registration of a thousand players may take; how long one request of the instructor may take."""
CHECKING_S = 1200.0
"""How long the checks of all players may take."""
TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """A child process; :meth:`stop` asks it to end, and kills it if it does not."""

    def __init__(self, name: str, log: Path, *command: str, **environment: str) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=os.environ | environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )

    def says(self, word: str) -> bool:
        """Whether the process has written a word.

        Raises:
            RuntimeError: the process has ended.
        """
        text = self.log.read_text(encoding="utf-8", errors="replace")
        if self._process.poll() is not None:
            raise RuntimeError(f"{self.name} ended: {text[-2000:]}")
        return word in text

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def cpu_s(self) -> float:
        """Seconds of processor time so far, user and system, of the process and its children."""
        return cpu_s(self._process.pid)

    def memory_mb(self) -> float:
        """Megabytes of memory that the process has in use."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        """End the process by SIGTERM, after ten seconds by SIGKILL."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def cpu_s(pid: int) -> float:
    """Processor seconds of a process, of its running children, and of the children that it has waited for."""
    process = Path(f"/proc/{pid}")
    fields = process.joinpath("stat").read_text().rpartition(")")[2].split()
    tasks = process.joinpath("task").iterdir()
    children = [int(child) for task in tasks for child in task.joinpath("children").read_text().split()]
    return sum(map(int, fields[11:15])) / TICKS + sum(map(cpu_s, children))


class Bench(Instructor):
    """A site with its referees and players; nothing runs until :meth:`start` or :meth:`start_site`."""

    def __init__(self, folder: Path, players: int) -> None:
        self.folder = folder
        self.count = players
        self.port = free_port()
        super().__init__(f"http://127.0.0.1:{self.port}")
        self.http.timeout = PATIENCE_S
        self._all: list[Process] = []

    def create(self, league_id: str, game_type: str = "even_odd", **settings: Any) -> None:
        """Open a league to which any number of players may come from this machine."""
        super().create(league_id, game_type, **settings)
        self._let_crowd_in(league_id)

    def _let_crowd_in(self, league_id: str) -> None:
        self.post(f"/leagues/{league_id}/crowd/let_in", {"address": "127.0.0.1"})

    def start(self) -> None:
        """Start the site, referees and players; returns when all agents have registered."""
        self.start_site()
        self.players = self._run(
            "players",
            *("-m", "league_sdk.player", "--league", f"{self.url}/mcp", "--name", "Bench", "--port", "0"),
            *("--count", str(self.count), "--exit-with-parent"),
        )
        wait_for("the players have registered", lambda: self.players.says(" are P"))

    def start_site(self, referees: int = REFEREES, matches_at_once: int = 32, checked: bool = False) -> None:
        """Start the host and its referees, each for ``matches_at_once``; returns when the referees have registered.

        With ``checked``, a registration asks for a check of the player.
        """
        options = ("--port", str(self.port), "--data", str(self.folder / "data"), "--no-demo", "--referees", "0")
        environment = ENVIRONMENT | {"LEAGUE_CHECK_ON_REGISTRATION": str(int(checked))}
        self.host = self._run("host", "manage.py", "host", *options, **environment)
        wait_for("the site is healthy", self._healthy)
        self._let_crowd_in(LEAGUE)
        self.referees = [self._referee(number, matches_at_once) for number in range(1, referees + 1)]
        for referee in self.referees:
            wait_for(f"{referee.name} has registered", lambda one=referee: one.says(" is REF"))

    def start_speakers(self, leagues: dict[str, str]) -> None:
        """Open leagues and start their players (``tests.bench.speakers``); ``leagues``: their kind by league id.

        In a league of kind ``plain_1_11`` all speak one dialect and take 1 to 11 seconds for a choice.
        """
        for league in leagues:
            self.create(league)
        # All speakers have one port; their paths tell them apart, as behind a gateway.
        self.post("/gateways", {"host": "127.0.0.1"})
        self.players = self._run(
            "players",
            *("-m", "tests.bench.speakers", "--site", self.url, "--count", str(self.count)),
            *(f"{league}={kind}" for league, kind in leagues.items()),
        )
        wait_for("the players have registered", lambda: self.players.says("READY"), REGISTERING_S)

    def start_thinkers(self, league: str, think_s: float) -> None:
        """Start ordinary players of a league that take ``think_s`` seconds for a choice."""
        self.players = self._run(
            "players",
            *("-m", "league_sdk.player", "--league", f"{self.url}/mcp", "--name", "Bench", "--port", "0"),
            *("--league-id", league, "--count", str(self.count), "--think", f"{think_s:g}", "--exit-with-parent"),
        )
        wait_for("the players have registered", lambda: self.players.says(" are P"), REGISTERING_S)

    def wait_for_checks(self) -> dict[str, int]:
        """Wait until every check is over; returns how many of the kept ones passed, and how many did not."""
        sql = "SELECT count(*) FROM matches_check WHERE state IN ('WANTED', 'RUNNING')"
        wait_for("the players are checked", lambda: self.rows(sql) == [(0,)], CHECKING_S)
        counts = "SELECT CASE WHEN passed THEN 'passed' ELSE 'did not pass' END, count(*) FROM matches_check GROUP BY 1"
        return dict(self.rows(counts))

    def _referee(self, number: int, matches_at_once: int) -> Process:
        name = f"referee{number}"
        return self._run(
            name,
            *("-m", "tests.bench.referee", "--league", f"{self.url}/mcp", "--port", str(free_port())),
            *("--name", name, "--exit-with-parent", "--max-concurrent", str(matches_at_once)),
            BENCH_CALLS=str(self.folder / f"{name}.calls"),
            **ENVIRONMENT,
        )

    def _run(self, name: str, *command: str, **environment: str) -> Process:
        process = Process(name, self.folder / f"{name}.log", *command, **environment)
        self._all.append(process)
        return process

    def _healthy(self) -> bool:
        self.host.says("")
        with contextlib.suppress(httpx.HTTPError):
            return self.http.get("/health").status_code == 200
        return False

    def cpu_s(self) -> dict[str, float]:
        """Processor seconds so far: host, referees together, players together."""
        return {
            "host": self.host.cpu_s(),
            "referees": sum(referee.cpu_s() for referee in self.referees),
            "players": self.players.cpu_s(),
        }

    def rows(self, query: str, *values: str) -> list[Any]:
        """The rows of a query, read from the database file and not through the site."""
        name = f"file:{self.folder / 'data' / 'league.sqlite3'}?mode=ro"
        with contextlib.closing(sqlite3.connect(name, uri=True, timeout=5)) as database:
            return database.execute(query, values).fetchall()

    async def until(self, query: str, *values: str, row: tuple[Any, ...], limit_s: float, tick_s: float = 0.1) -> None:
        """Wait until the result of a query is this one row; asking the database costs the site nothing."""
        await until(lambda: self.rows(query, *values) == [row], limit_s, tick_s)

    def used_s(self, before: dict[str, float]) -> dict[str, float]:
        """Processor seconds since :meth:`cpu_s` returned ``before``."""
        return {name: now - before[name] for name, now in self.cpu_s().items()}

    def calls_ms(self, method: str, *, since: float = 0.0, until: float = math.inf) -> list[float]:
        """How long each call of a method by a referee took, if it was answered in a period (seconds since 1970).

        The figures are there once the referees have been stopped.
        """
        lines = [line for one in self.referees for line in (self.folder / f"{one.name}.calls").open(encoding="utf-8")]
        calls = map(json.loads, lines)
        return [call["ms"] for call in calls if call["method"] == method and since <= call["at"] < until]

    def stop_site(self) -> None:
        """Stop every process but the players."""
        for process in reversed(self._all):
            if process is not self.players:
                process.stop()

    def stop(self) -> None:
        """Stop every process."""
        for process in reversed(self._all):
            process.stop()
        self.http.close()


@contextlib.contextmanager
def running(
    folder: Path, players: int, leagues: dict[str, str] | None = None, *, checked: bool = False, **options: int
) -> Iterator[Bench]:
    """A running bench, stopped when the block ends.

    Args:
        folder: an empty one.
        players: how many, in each league.
        leagues: if given, the players are those of :meth:`Bench.start_speakers`.
        checked: whether the players are checked after their registration, before the block begins; only with
            ``leagues``.
        options: further arguments of :meth:`Bench.start_site`; only with ``leagues``.
    """
    bench = Bench(folder, players)
    try:
        if leagues is None:
            bench.start()
        else:
            bench.start_site(checked=checked, **options)
            bench.start_speakers(leagues)
            if checked:
                print(f"the players are checked; of the last reports: {bench.wait_for_checks()}", flush=True)
        yield bench
    finally:
        bench.stop()


@contextlib.contextmanager
def running_site(folder: Path) -> Iterator[Bench]:
    """A running site without referees and players, stopped when the block ends."""
    bench = Bench(folder, 0)
    try:
        bench.start_site(referees=0)
        yield bench
    finally:
        bench.stop()
