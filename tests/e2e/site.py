"""A real site as a process, and real players as processes, on free ports of 127.0.0.1."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from tests.e2e.ports import free_port
from tests.paths import ROOT

API_KEY = "key-of-the-tests"
PASSWORD = "password-of-the-tests"
PATIENCE_S = 60.0
REFEREE_PORTS = 4
"""How many consecutive ports are reserved for the referees of a host."""
UNHURRIED = {
    "join_timeout_s": 20,
    "move_timeout_s": 30,
    "game_over_timeout_s": 20,
    "retry_base_s": 0.25,
    "auto_advance": True,
}
"""Settings of a league for whose agents the site has to find the dialect first, on a machine that may be busy."""

T = TypeVar("T")


def wait_for(what: str, read: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """Call ``read`` until it returns something true, and return it; fails after ``patience_s``, with the last value."""
    tick = threading.Event()
    for _ in range(int(patience_s / 0.05)):
        seen = read()
        if seen:
            return seen
        tick.wait(0.05)
    raise AssertionError(f"{what}: not within {patience_s} s; last seen: {seen!r}")


class Instructor:
    """What an instructor does by script at a site.

    Args:
        url: where the site, or one web process of it, answers.
        certificate: the certificate of a proxy that is called by https.
    """

    def __init__(self, url: str, certificate: Path | None = None) -> None:
        self.url = url
        verify = ssl.create_default_context(cafile=certificate) if certificate else True
        head = {"Authorization": f"Bearer {API_KEY}"}
        self.http = httpx.Client(base_url=url, headers=head, timeout=20, trust_env=False, verify=verify)

    def log(self) -> str:
        """What the site has logged so far; empty for a site whose log is elsewhere."""
        return ""

    def get(self, path: str) -> Any:
        """GET under /api."""
        answer = self.http.get(f"/api{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        """POST under /api."""
        answer = self.http.post(f"/api{path}", json=body if body is not None else {})
        assert answer.status_code == status, answer.text
        return answer.json()

    def create(self, league_id: str, game_type: str = "even_odd", **settings: Any) -> None:
        """Open a league."""
        body = {"league_id": league_id, "display_name": league_id, "game_type": game_type, "settings": settings}
        self.post("/leagues", body, status=201)

    def play_to_the_end(self, league_id: str) -> dict[str, Any]:
        """Start a league with all its rounds and wait until it is COMPLETED; returns the league as the API shows it."""
        self.post(f"/leagues/{league_id}/start", {"auto_advance": True})
        return self.wait_until(league_id, "COMPLETED")

    def wait_for_round(self, league_id: str, number: int, patience_s: float = 60.0) -> None:
        """Wait until a round of a league is COMPLETED."""

        def is_over() -> bool:
            return bool(self.get(f"/leagues/{league_id}/rounds")[number - 1]["state"] == "COMPLETED")

        wait_for(f"round {number} is over", is_over, patience_s)

    def end(self, league_id: str) -> None:
        """Stop a league if it is running, so that nothing of it goes on beside other tests."""
        if self.get(f"/leagues/{league_id}")["status"] == "RUNNING":
            self.post(f"/leagues/{league_id}/stop")

    def wait_until(self, league_id: str, status: str, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until a league has a status; returns the league as the API shows it."""

        def reached() -> dict[str, Any] | None:
            league = self.get(f"/leagues/{league_id}")
            return league if league["status"] == status else None

        try:
            return wait_for(f"{league_id} is {status}", reached, patience_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.get(f'/leagues/{league_id}')}\n{self.log()[-4000:]}") from None


@functools.cache
def migrated_database() -> Path:
    """A database with its tables, made once in each test process: it is the slowest part of a site's first start."""
    folder = tempfile.mkdtemp(prefix="league-tables-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    left_out = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment | {"LEAGUE_DATA": folder}, check=True)
    return Path(folder) / "league.sqlite3"


class Site(Instructor):
    """``manage.py host`` under test.

    Args:
        data: its data folder. A missing one is created with a database that has its tables, unless ``first_start``.
        options: further options of the command.
        port: where it listens; a free one by default.
        credentials: whether API key and password are given to it.
        environment: further variables of its environment.
        first_start: let the site create its tables, as on its very first start.
        command: the program and its first arguments.
        folder: the working directory.
    """

    def __init__(
        self,
        data: Path,
        *options: str,
        port: int | None = None,
        credentials: bool = True,
        environment: Mapping[str, str] | None = None,
        first_start: bool = False,
        command: Sequence[str] = (sys.executable, "manage.py"),
        folder: Path = ROOT,
    ) -> None:
        self.data = data
        if not (data.exists() or first_start or "DATABASE_URL" in os.environ):
            data.mkdir(mode=0o700)
            shutil.copy(migrated_database(), data)
        self.port = port or free_port()
        super().__init__(f"http://127.0.0.1:{self.port}")
        # Chosen once, because after a restart another site may have taken other ports.
        self.referee_port = free_port(together=REFEREE_PORTS)
        self.options = options
        self._command = [*command, "host", "--port", str(self.port), "--data", str(data)]
        self._folder = folder
        self._environment = dict(environment or {})
        self._credentials = {"LEAGUE_API_KEY": API_KEY, "LEAGUE_ADMIN_PASSWORD": PASSWORD} if credentials else {}
        self._log = (data.parent / f"{data.name}.log").open("ab")
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start it (again), on the same data and port; returns when it is healthy."""
        # No checks by default: players of the tests record every message, and those of a check would be among them.
        environment = {"LEAGUE_CHECK_ON_REGISTRATION": "0"} | os.environ | self._credentials | self._environment
        for name in ("LEAGUE_DATA", "DJANGO_SETTINGS_MODULE"):
            environment.pop(name, None)
        # The options come last, so that a test can override --referee-port.
        command = [*self._command, "--referee-port", str(self.referee_port), *self.options]
        self.process = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=self._log, stderr=self._log)
        wait_for("the site is healthy", self._healthy)

    def _healthy(self) -> bool:
        assert self.process.poll() is None, f"host ended: {self.log()[-3000:]}"
        try:
            return self.http.get("/health").status_code == 200
        except httpx.HTTPError:
            return False

    def log(self) -> str:
        """What the site has logged so far."""
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")

    def children(self) -> list[int]:
        """The processes it has started that are running."""
        pids = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z":
                pids.append(int(stat.parent.name))
        return pids

    def referees(self) -> list[int]:
        """The process ids of its referee workers."""
        return [pid for pid in self.children() if "manage.py referee" in command_line(pid)]

    def kill(self) -> None:
        """End the site by SIGKILL."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End the site by SIGTERM; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)

    def close(self) -> None:
        """End the site and all its processes, whatever state they are in."""
        children = self.children()
        try:
            self.stop()
        finally:
            if self.process.poll() is None:
                self.kill()
            for pid in children:
                if is_running(pid):
                    os.kill(pid, signal.SIGKILL)
            self.http.close()
            self._log.close()


def command_line(pid: int) -> str:
    """A process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def is_running(pid: int) -> bool:
    """Whether a process is there and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Bot:
    """An agent of ``tests/bots`` as a process of its own, registered.

    Attributes:
        log_file: the file of its records, see :meth:`lines`.
        endpoint: where it listens.
        agent_id: the id it was given.
    """

    def __init__(self, kind: str, site: Instructor, log_file: Path, *options: str) -> None:
        self.log_file = log_file
        command = [sys.executable, "-m", f"tests.bots.{kind}", "--league", f"{site.url}/mcp", "--log", str(log_file)]
        self.process = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        ready = re.match(r"READY (\S+) (\S+)", line)
        assert ready, f"{kind} did not register: {line!r} {self.lines()}"
        self.endpoint, self.agent_id = ready[1], ready[2]

    def lines(self) -> list[dict[str, Any]]:
        """The records that it has logged."""
        if not self.log_file.exists():
            return []
        return [json.loads(line) for line in self.log_file.read_text(encoding="utf-8").splitlines()]

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Player(Bot):
    """The strict player of 004 chapter 8."""

    def __init__(self, site: Instructor, name: str, folder: Path, *options: str) -> None:
        super().__init__("chapter8", site, folder / f"{name}.jsonl", "--name", name, "--port", "0", *options)
        self.player_id = self.agent_id

    def deviations(self) -> list[str]:
        """The differences between the messages that the player got and chapter 8."""
        return [line["deviation"] for line in self.lines() if "deviation" in line]

    def messages(self) -> list[dict[str, Any]]:
        """The params of every call it received, in order; a ping has none."""
        return [line["params"] for line in self.lines() if line.get("params") is not None and "method" in line]

    def wait_for_last_message(self) -> None:
        """Wait for LEAGUE_COMPLETED."""

        def is_told() -> bool:
            return any(message.get("message_type") == "LEAGUE_COMPLETED" for message in self.messages())

        wait_for("LEAGUE_COMPLETED", is_told)

    def auth_token(self) -> str:
        """The token of its registration."""
        reply = next(line["reply"] for line in self.lines() if line.get("registered"))
        return str(reply["result"]["auth_token"])

    def secrets(self) -> set[str]:
        """Every token in the messages that it sent or received."""
        return set(re.findall(r"tok_[0-9a-f]{32}", self.log_file.read_text(encoding="utf-8")))


@contextmanager
def bots(site: Instructor, kind: str, *options: str) -> Iterator[list[str]]:
    """Bots of ``tests/bots`` in one process, registered one after the other; yields the line that each has printed."""
    command = [sys.executable, "-m", f"tests.bots.{kind}", "--league", f"{site.url}/mcp", "--exit-with-parent"]
    process = subprocess.Popen([*command, *options], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        lines: list[str] = []
        while (line := process.stdout.readline()) != "ALL\n":
            assert line, f"the bots ended: {lines}"
            lines.append(line.rstrip("\n"))
        yield lines
    finally:
        # Closing their input ends them, and the programs in other languages that they have started.
        process.stdin.close()
        process.wait(timeout=20)
        process.stdout.close()


@contextmanager
def league_with_players(
    site: Instructor, league: str, players: int, folder: Path, *player_options: str, **settings: Any
) -> Iterator[list[Player]]:
    """A new league of a site that other tests use, too; yields its chapter-8 players in the order of their ids."""
    site.create(league, **settings)
    logs = folder / league
    logs.mkdir()
    with _cast(site, players, logs, "--league-id", league, *player_options) as cast:
        yield cast
        site.end(league)


@contextmanager
def _cast(site: Instructor, players: int, logs: Path, *options: str) -> Iterator[list[Player]]:
    """Chapter-8 players, registered in the order of their ids.

    All players of the list end with the block, also those that a test adds to it.
    """
    cast: list[Player] = []
    try:
        for number in range(1, players + 1):
            cast.append(Player(site, f"Agent{number}", logs, *options))
        yield cast
    finally:
        for player in cast:
            player.close()


@contextmanager
def site_with_players(
    folder: Path,
    players: int,
    *,
    options: tuple[str, ...] = ("--no-demo",),
    player_options: tuple[str, ...] = (),
    league: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Iterator[tuple[Site, list[Player]]]:
    """A site, and chapter-8 players of ``league`` (by default the site's first) in the order of their ids.

    A caller that names ``league`` puts ``--league-id`` with it into ``player_options``.
    """
    site = Site(folder / "data", *options)
    try:
        if league is not None:
            site.create(league, **(settings or {}))
        with _cast(site, players, folder, *player_options) as cast:
            yield site, cast
    finally:
        site.close()
