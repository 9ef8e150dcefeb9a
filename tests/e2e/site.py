"""A real site as a process, and real players as processes, on free ports of 127.0.0.1."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from tests.places import ROOT

API_KEY = "key-of-the-tests"
PASSWORD = "password-of-the-tests"
PATIENCE_S = 60.0
LOWEST_PORT, HIGHEST_PORT, PORT_SHARES = 10_240, 32_768, 8
REFEREES_PORTS = 4
"""A host's referees listen at ports that follow each other."""

T = TypeVar("T")


def _own_ports() -> Iterator[int]:
    """Ports of this test process, again and again from a random one on.

    They lie below those that systems give to outgoing connections, and no other worker of the run has them: whoever is
    started again finds its port free.
    """
    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0) % PORT_SHARES
    share = (HIGHEST_PORT - LOWEST_PORT) // PORT_SHARES
    first = LOWEST_PORT + worker * share
    begin = secrets.randbelow(share)
    while True:
        yield from (first + (begin + number) % share for number in range(share))


_ports = _own_ports()


def free_port(host: str = "127.0.0.1", together: int = 1) -> int:
    """A port that nothing listens at now; the first of so many that follow each other."""
    found: list[int] = []
    while len(found) < together:
        port = next(_ports)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                found = []
                continue
        # After the last port of this process comes the first.
        found = [*found, port] if not found or port == found[-1] + 1 else [port]
    return found[0]


def wait_for(what: str, look: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """Look until something true is seen; what was last seen is in the error."""
    tick = threading.Event()
    for _ in range(int(patience_s / 0.05)):
        seen = look()
        if seen:
            return seen
        tick.wait(0.05)
    raise AssertionError(f"{what}: not within {patience_s} s; last seen: {seen!r}")


class Instructor:
    """What an instructor does by script at a site.

    Args:
        url: where the site, or one web process of it, answers.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {API_KEY}"}, timeout=20, trust_env=False
        )

    def log(self) -> str:
        """What the site has written so far."""
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

    def end(self, league_id: str) -> None:
        """Stop a league if it is running, so that nothing of it goes on beside other tests."""
        if self.get(f"/leagues/{league_id}")["status"] == "RUNNING":
            self.post(f"/leagues/{league_id}/stop")

    def wait_until(self, league_id: str, status: str, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait for a league's status; the league as the API shows it."""

        def reached() -> dict[str, Any] | None:
            league = self.get(f"/leagues/{league_id}")
            return league if league["status"] == status else None

        try:
            return wait_for(f"{league_id} is {status}", reached, patience_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.get(f'/leagues/{league_id}')}\n{self.log()[-4000:]}") from None


@functools.cache
def _migrated() -> Path:
    """A database with its tables: making them takes longer than all else of a site's first start."""
    folder = tempfile.mkdtemp(prefix="league-tables-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment | {"LEAGUE_DATA": folder}, check=True)
    return Path(folder) / "league.sqlite3"


class Site(Instructor):
    """``manage.py host`` under test.

    Args:
        data: its data folder. One that is not there yet is made with the tables in it, unless the site is ``bare``.
        options: of the command.
        port: where it listens; any by default.
        credentials: whether API key and password are given to it.
        bare: it makes its tables itself, as on its very first start.
    """

    def __init__(
        self, data: Path, *options: str, port: int | None = None, credentials: bool = True, bare: bool = False
    ) -> None:
        self.data = data
        if not (data.exists() or bare or "DATABASE_URL" in os.environ):
            data.mkdir(mode=0o700)
            shutil.copy(_migrated(), data)
        self.port = port or free_port()
        super().__init__(f"http://127.0.0.1:{self.port}")
        self._options = options
        self._referee_port = free_port(together=REFEREES_PORTS)
        self._credentials = {"LEAGUE_API_KEY": API_KEY, "LEAGUE_ADMIN_PASSWORD": PASSWORD} if credentials else {}
        self._log = (data.parent / f"{data.name}.log").open("ab")
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start it (again), on the same data and port; returns when it is healthy."""
        environment = os.environ | self._credentials
        for name in ("LEAGUE_DATA", "DJANGO_SETTINGS_MODULE"):
            environment.pop(name, None)
        command = [sys.executable, "manage.py", "host", "--port", str(self.port), "--data", str(self.data)]
        # Of its own: what another site took in between could not be had again after a restart.
        command += ["--referee-port", str(self._referee_port)]
        self.process = subprocess.Popen(
            [*command, *self._options], cwd=ROOT, env=environment, stdout=self._log, stderr=self._log
        )
        wait_for("the site is healthy", self._healthy)

    def _healthy(self) -> bool:
        assert self.process.poll() is None, f"host ended: {self.log()[-3000:]}"
        try:
            return self.http.get("/health").status_code == 200
        except httpx.HTTPError:
            return False

    def log(self) -> str:
        """Everything it has written so far."""
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")

    def children(self) -> list[int]:
        """The processes it has started that are running."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found

    def referees(self) -> list[int]:
        """The process ids of its referee workers."""
        return [pid for pid in self.children() if "manage.py referee" in command_line(pid)]

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)

    def close(self) -> None:
        """Stop, whatever state it is in."""
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
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Bot:
    """An agent of ``tests/bots`` as a process of its own, registered.

    Attributes:
        log_file: what it has written, see :meth:`lines`.
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
        """Its log."""
        if not self.log_file.exists():
            return []
        return [json.loads(line) for line in self.log_file.read_text(encoding="utf-8").splitlines()]

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Player(Bot):
    """The strict chapter-8 player."""

    def __init__(self, site: Instructor, name: str, folder: Path, *options: str) -> None:
        super().__init__("chapter8", site, folder / f"{name}.jsonl", "--name", name, "--port", "0", *options)
        self.player_id = self.agent_id

    def deviations(self) -> list[str]:
        """Where what it saw differs from chapter 8."""
        return [line["deviation"] for line in self.lines() if "deviation" in line]

    def messages(self) -> list[dict[str, Any]]:
        """The params of every call it received, in order."""
        return [line["params"] for line in self.lines() if "params" in line and "method" in line]

    def wait_for_last_message(self) -> None:
        """Wait for LEAGUE_COMPLETED."""

        def came() -> bool:
            return any(message.get("message_type") == "LEAGUE_COMPLETED" for message in self.messages())

        wait_for("LEAGUE_COMPLETED", came)

    def secrets(self) -> set[str]:
        """Every token that stands anywhere in what it sent and saw."""
        return set(re.findall(r"tok_[0-9a-f]{32}", self.log_file.read_text(encoding="utf-8")))


@contextmanager
def bots(site: Instructor, kind: str, *options: str) -> Iterator[list[str]]:
    """Bots of ``tests/bots`` in one process, registered one after the other; gives a line for each."""
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
        # They end with their input: only so do the programs of other languages end with them.
        process.stdin.close()
        process.wait(timeout=20)
        process.stdout.close()


@contextmanager
def league_with_players(
    site: Instructor, league: str, players: int, folder: Path, *player_options: str, **settings: Any
) -> Iterator[list[Player]]:
    """A new league of a site that others use, too, and so many chapter-8 players, in the order of their ids."""
    site.create(league, **settings)
    logs = folder / league
    logs.mkdir()
    cast: list[Player] = []
    try:
        for number in range(players):
            cast.append(Player(site, f"Agent{number + 1}", logs, "--league-id", league, *player_options))
        yield cast
        site.end(league)
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
    """A site and so many chapter-8 players, registered for a league (its default one) in the order of their ids."""
    site = Site(folder / "data", *options)
    cast: list[Player] = []
    try:
        if league is not None:
            site.create(league, **(settings or {}))
        for number in range(players):
            cast.append(Player(site, f"Agent{number + 1}", folder, *player_options))
        yield site, cast
    finally:
        for player in cast:
            player.close()
        site.close()
