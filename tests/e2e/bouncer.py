"""PgBouncer in transaction mode, as deploy/pgbouncer configures it, for one test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.e2e.servers import missing
from tests.e2e.site import free_port, wait_for
from tests.paths import ROOT


@contextmanager
def bouncer(database: str, folder: Path, pool_size: int = 3) -> Iterator[str]:
    """A PgBouncer before a database; yields the URL with which the site reaches the database through it.

    Args:
        database: the URL of the database.
        folder: for its files.
        pool_size: how many sessions of PostgreSQL all clients share.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        missing("pgbouncer is not installed")
        raise AssertionError
    parts, port = urlsplit(database), free_port()
    name = parts.path.strip("/")
    text = (ROOT / "deploy/pgbouncer/pgbouncer.ini").read_text()
    for pattern, value in {
        "^league = host=.*? dbname=league": f"{name} = host={parts.hostname} port={parts.port} dbname={name} "
        f"user={parts.username}",
        "^listen_port = .*": f"listen_port = {port}",
        "^auth_type = .*": "auth_type = any",
        "^auth_file = .*": "",
        "^default_pool_size = .*": f"default_pool_size = {pool_size}",
    }.items():
        text, count = re.subn(pattern, value, text, flags=re.MULTILINE)
        assert count == 1, pattern
    file = folder / "pgbouncer.ini"
    file.write_text(text)
    for path in (folder, file):
        path.chmod(0o755)
    # It refuses to run as root.
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with (folder / "pgbouncer.log").open("wb") as log, file.open() as configuration:
        process = subprocess.Popen([*user, program, "/dev/stdin"], stdin=configuration, stdout=log, stderr=log)
    try:
        url = f"postgres://{parts.username}@127.0.0.1:{port}/{name}"

        def answers() -> bool:
            assert process.poll() is None, (folder / "pgbouncer.log").read_text()
            try:
                psycopg.connect(url, connect_timeout=2).close()
            except psycopg.OperationalError:
                return False
            return True

        wait_for("PgBouncer answers", answers)
        yield f"{url}?pgbouncer=true"
    finally:
        process.terminate()
        process.wait()
