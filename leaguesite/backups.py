"""A copy of everything the site knows, taken while it runs: the database as of one moment, keys, the referees' ports.

One archive, so that nobody keeps a database without the keys that its tokens were made with. Restoring needs no command
of ours: docs/deployment.md.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

SQLITE, POSTGRES = "league.sqlite3", "league.dump"
BESIDE = ("keys", "ports.json")
"""What of the data folder goes with the database. Logs and static files do not."""
FASTEST = 3
"""Of gzip's levels: the smaller files of higher ones take several times as long, and the site runs beside us."""


class BackupFailed(Exception):
    """Nothing was written; the sentence says why."""


def back_up(file: Path, *, database: dict[str, Any], data: Path) -> int:
    """Write the archive; its size in bytes.

    Args:
        file: the archive, ``.tar.gz``; not there yet.
        database: Django's settings of it.
        data: the data folder.

    Raises:
        BackupFailed: it is there already, cannot be written, or the database cannot be read.
    """
    if file.exists():
        raise BackupFailed(f"{file} is there already: choose another name, such as one with the date in it.")
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.absolute().parent) as scratch:
            copy = _copy(database, Path(scratch))
            archive = Path(scratch) / "archive"
            _pack(archive, copy, data)
            # Whole, or not at all; and never over another one.
            os.link(archive, file)
    except FileExistsError:
        raise BackupFailed(f"{file} has just been written by somebody else.") from None
    except OSError as error:
        raise BackupFailed(f"{file} cannot be written: {error.strerror}.") from None
    return file.stat().st_size


def _copy(database: dict[str, Any], scratch: Path) -> Path:
    if database["ENGINE"].endswith("sqlite3"):
        return _copy_sqlite(Path(database["NAME"]), scratch / SQLITE)
    return _dump_postgres(database, scratch / POSTGRES)


def _copy_sqlite(source: Path, target: Path) -> Path:
    """In one step, so that what is written meanwhile is in it whole or not at all; nobody waits for us."""
    if not source.exists():
        raise BackupFailed(f"There is no database at {source}.")
    target.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=20)) as live,
            closing(sqlite3.connect(target)) as copy,
        ):
            live.backup(copy)
            # Whoever reads a backup must not know the numbers of matches that are still to be drawn, nor how one ended
            # whose players have not heard it (ruling, section 12).
            if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'matches_match'").fetchone():
                copy.execute("UPDATE matches_match SET draw_seed = '', seal = NULL WHERE state <> 'FINISHED'")
                copy.commit()
                # What was blanked is not left in pages that are free.
                copy.execute("VACUUM")
            found = copy.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.Error as error:
        raise BackupFailed(f"The database cannot be read: {error}.") from None
    if found != "ok":
        raise BackupFailed(f"The database is damaged: {found}")
    return target


def _dump_postgres(database: dict[str, Any], target: Path) -> Path:
    if shutil.which("pg_dump") is None:
        raise BackupFailed("pg_dump is not installed: it comes with PostgreSQL's client (postgresql-client).")
    target.touch(mode=0o600)
    # By the environment: a password in a command line is seen by everybody on the machine.
    where = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    given = {variable: database[name] for variable, name in where.items() if database[name]}
    done = subprocess.run(
        ["pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}"],  # noqa: S607 - as installed
        env=os.environ | given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupFailed(f"pg_dump failed: {done.stderr.strip()}")
    return target


def _pack(archive: Path, copy: Path, data: Path) -> None:
    archive.touch(mode=0o600)
    with tarfile.open(archive, "w:gz", compresslevel=FASTEST) as packed:
        packed.add(copy, copy.name)
        for name in BESIDE:
            if (data / name).exists():
                packed.add(data / name, name)
