"""PostgreSQL with a standby, and Redis, with the files of ``deploy/``: certificates of an authority of their own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

from tests.chaos.servers import initdb_path
from tests.e2e.servers import Redis, missing
from tests.e2e.site import free_port, wait_for
from tests.paths import ROOT

HERE = "127.0.0.1"
PASSWORD = "password-of-the-role"
AS_POSTGRES = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
"""PostgreSQL refuses to run as root."""


def documented_commands(beginning: str) -> list[str]:
    """The lines of docs/deployment.md that begin with a command."""
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    return re.findall(rf"^    ({re.escape(beginning)}.*)$", text, re.MULTILINE)


def make_certificates(folder: Path, authority: Path | None = None) -> None:
    """Run the commands of docs/deployment.md, which make ``league.pem`` and ``league.key``.

    Args:
        folder: for the files.
        authority: the folder with ``ca.pem`` and ``ca.key``; without it they are made, too.
    """
    make_authority, *make_certificate = documented_commands("openssl ")
    assert len(make_certificate) == 2
    if authority is None:
        _run_openssl(make_authority, folder)
    else:
        for name in ("ca.pem", "ca.key"):
            shutil.copy(authority / name, folder)
    for command in make_certificate:
        _run_openssl(command.replace("10.66.0.2", HERE), folder)


def _run_openssl(command: str, folder: Path) -> None:
    subprocess.run(["bash", "-c", command], cwd=folder, check=True, capture_output=True, timeout=60)


class Postgres:
    """One server: the role ``league`` gets in by TLS with its password, and ``postgres`` by a socket in the folder.

    Args:
        primary: the server that this one is a standby of.
    """

    def __init__(self, primary: Postgres | None = None) -> None:
        initdb = initdb_path()
        if initdb is None or shutil.which("openssl") is None:
            missing("PostgreSQL or openssl is not installed")
            raise AssertionError
        self._bin, self.port = Path(initdb).resolve().parent, free_port()
        # Not in a folder of the tests, which other users may not enter.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="league-db-"))
        self._data = folder / "data"
        make_certificates(folder, primary.authority.parent if primary else None)
        (folder / "league.key").chmod(0o600)
        self._give("..", *(f"../{path.name}" for path in folder.iterdir()))
        if primary is None:
            self._run(
                "initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"
            )
        else:
            [command] = documented_commands("runuser -u postgres -- pg_basebackup ")
            where = {
                "host=10.66.0.2 port=5432": f"host={HERE} port={primary.port} password={PASSWORD}",
                "/etc/postgresql/ca.pem": str(primary.authority),
                "/var/lib/postgresql/15/main": str(self._data),
            }
            for documented, here in where.items():
                assert documented in command
                command = command.replace(documented, here)
            self._run(*shlex.split(command)[4:])
        self._configure()
        self.start()

    @property
    def authority(self) -> Path:
        """The certificate that clients have to trust."""
        return self._folder / "ca.pem"

    def _give(self, *names: str) -> None:
        """Make files of the data folder its server's."""
        for name in names if AS_POSTGRES else ():
            shutil.chown(os.path.normpath(self._data / name), "postgres")

    def _configure(self) -> None:
        text = (ROOT / "deploy/postgresql/league.conf").read_text(encoding="utf-8")
        text = text.replace("10.66.0.2", HERE).replace("/etc/postgresql/", f"{self._folder}/")
        (self._data / "league.conf").write_text(text, encoding="utf-8")
        self._give("league.conf")
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"include 'league.conf'\nport = {self.port}\nunix_socket_directories = '{self._folder}'\n")
            # These machines lose no power.
            file.write("fsync = off\n")
        hba = (ROOT / "deploy/postgresql/pg_hba.conf").read_text(encoding="utf-8")
        hba = re.sub(r"10\.66\.0\.\d+", HERE, hba)
        (self._data / "pg_hba.conf").write_text(f"local all postgres trust\n{hba}", encoding="utf-8")

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [*AS_POSTGRES, str(self._bin / program), *words],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (program, done.stderr, self._log())

    def _log(self) -> str:
        path = self._folder / "log"
        return path.read_text(encoding="utf-8")[-3000:] if path.exists() else ""

    def start(self) -> None:
        """Start it; returns when it answers, as a standby in spite of writing nothing."""
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._folder / "log"), "-w", "start")

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement as the administrator, on the machine itself."""
        where = f"host={self._folder} port={self.port} user=postgres dbname=postgres"
        with psycopg.connect(where, autocommit=True) as server:
            cursor = server.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def wait_for_standby(self) -> None:
        """From now on acknowledge nothing before a standby has it; returns when one has everything."""
        file = self._data / "league.conf"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("#synchronous_standby_names", "synchronous_standby_names"), encoding="utf-8")
        self._run("pg_ctl", "-D", str(self._data), "reload")
        question = "SELECT sync_state FROM pg_stat_replication"
        wait_for("the standby has everything", lambda: self.sql(question) == [("sync",)])

    def promote(self) -> None:
        """Make a standby the server that takes writes."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "promote")

    def kill(self) -> None:
        """End it as a crash does: nothing is finished, and its clients are told nothing."""
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def close(self) -> None:
        """End it, and remove everything of it."""
        self.kill()
        shutil.rmtree(self._folder)


class SecureRedis(Redis):
    """Redis with a password and TLS."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        super().__init__(folder)

    def start(self) -> None:
        """Start it with the shipped configuration; returns when it answers."""
        make_certificates(self._folder)
        text = (ROOT / "deploy/redis/league.conf").read_text(encoding="utf-8")
        changes = {"10.66.0.2": HERE, "6379": str(self.port), "/etc/redis": str(self._folder), "PASSWORD": PASSWORD}
        for old, new in changes.items():
            text = text.replace(old, new)
        (self._folder / "league.conf").write_text(text, encoding="utf-8")
        self.url = f"rediss://:{PASSWORD}@{HERE}:{self.port}/0?ssl_ca_certs={self._folder}/ca.pem"
        self._run(str(self._folder / "league.conf"))
