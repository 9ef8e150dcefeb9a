"""Back up a running site into one file: the database as of one moment, keys, the ports of its child processes.

It is one file, so that nobody keeps a database without the keys that its tokens were made with. Restoring needs no
command of ours (docs/deployment.md).
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management import CommandError
from psycopg.pq import Conninfo

SQLITE, POSTGRES = "league.sqlite3", "league.sql"
BESIDE = ("keys", "ports.json")
"""The other parts of the data folder that are backed up. Logs and static files are not."""
COMPRESSION = 3
"""Level of gzip: higher ones take several times as long, and the site is running meanwhile."""
_STILL_HIDDEN = "state <> 'FINISHED' AND (seal IS NULL OR json_extract(seal, '$.told') IS NOT 1)"
"""SQL for matches whose seed and verdict nobody may know yet (ruling, section 12)."""


class BackupFailed(CommandError):
    """No backup was written; the text says why."""


def back_up(file: Path, *, database: dict[str, Any], data: Path) -> int:
    """Write the backup and return its size in bytes.

    Args:
        file: the backup to write, ``.tar.gz``; it must not exist yet.
        database: Django's settings of it.
        data: the data folder.

    Raises:
        BackupFailed: the file exists or cannot be written, or the database cannot be read.
    """
    if file.exists():
        raise BackupFailed(f"{file} is there already: choose another name, such as one with the date in it.")
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.absolute().parent) as scratch:
            copy = _copy(database, Path(scratch))
            backup = Path(scratch) / "backup"
            _pack(backup, copy, data)
            # The backup appears whole or not at all, and never replaces another file.
            os.link(backup, file)
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
    """Copy in one step: a transaction that is committed meanwhile is in it whole or not at all, and no writer waits."""
    if not source.exists():
        raise BackupFailed(f"There is no database at {source}.")
    target.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=20)) as live,
            closing(sqlite3.connect(target)) as copy,
        ):
            live.backup(copy)
            # A reader of the backup must not learn numbers that are still to be drawn, nor the end of a match whose
            # players have not been told (ruling, section 12).
            if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'matches_match'").fetchone():
                copy.execute(f"UPDATE matches_match SET draw_seed = '', seal = NULL WHERE {_STILL_HIDDEN}")  # noqa: S608 - ours
                copy.commit()
                # VACUUM, as the blanked values are still in free pages of the file.
                copy.execute("VACUUM")
            verdict = copy.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.Error as error:
        raise BackupFailed(f"The database cannot be read: {error}.") from None
    if verdict != "ok":
        raise BackupFailed(f"The database is damaged: {verdict}")
    return target


def _dump_postgres(database: dict[str, Any], target: Path) -> Path:
    if shutil.which("pg_dump") is None:
        raise BackupFailed("pg_dump is not installed: it comes with PostgreSQL's client (postgresql-client).")
    if database.get("DISABLE_SERVER_SIDE_CURSORS"):
        # The settings of its session would stay behind in sessions that others use.
        raise BackupFailed("pg_dump cannot use PgBouncer: set DATABASE_URL to PostgreSQL itself for this command.")
    target.touch(mode=0o600)
    connection = libpq_variables(database)
    # As text, so that secrets are left out before anything is on the disk.
    command = ["pg_dump", "--format=plain", "--encoding=UTF8", "--no-owner", "--no-privileges"]
    with tempfile.TemporaryFile() as errors, target.open("wb") as dump:
        with subprocess.Popen(command, env=os.environ | connection, stdout=subprocess.PIPE, stderr=errors) as dumping:
            dump.writelines(without_secrets(dumping.stdout or ()))
        if dumping.returncode:
            errors.seek(0)
            raise BackupFailed(f"pg_dump failed: {errors.read().decode(errors='replace').strip()}")
    return target


def libpq_variables(database: dict[str, Any]) -> dict[str, str]:
    """How PostgreSQL's programs reach a database: in the environment, as everybody on the machine sees a command line.

    Args:
        database: as in Django's setting DATABASES.
    """
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    options = database.get("OPTIONS", {})
    keywords = {
        option.envvar.decode(): str(options[keyword])
        for option in Conninfo.get_defaults()
        if option.envvar is not None and (keyword := option.keyword.decode()) in options
    }
    return keywords | {variable: database[name] for variable, name in names.items() if database.get(name)}


def without_secrets(dump: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a plain pg_dump without the seeds and verdicts that nobody may know yet (ruling, section 12).

    Args:
        dump: its lines, with their ends.

    Raises:
        BackupFailed: the dump has another form than expected, so secrets cannot be found in it.
    """
    columns: list[bytes] = []
    for line in dump:
        if not columns:
            if line.startswith((b"COPY public.matches_match (", b"COPY matches_match (")):
                columns = [name.strip(b' "') for name in line[line.index(b"(") + 1 : line.index(b")")].split(b",")]
            elif b"INTO public.matches_match" in line[:60]:
                raise BackupFailed("pg_dump writes no COPY: its matches cannot be cleaned of what is secret.")
            yield line
        elif line.rstrip(b"\r\n") == b"\\.":
            columns = []
            yield line
        else:
            yield _cleaned(line, columns)


def _cleaned(row: bytes, columns: list[bytes]) -> bytes:
    """A match as COPY writes it, cleaned: cells between tabs, special characters escaped by backslashes."""
    cells = dict(zip(columns, row.rstrip(b"\n").split(b"\t"), strict=True))
    seal = cells.get(b"seal", b"\\N")
    # COPY doubles the backslashes of the JSON.
    is_told = seal != b"\\N" and json.loads(seal.replace(b"\\\\", b"\\")).get("told")
    if cells[b"state"] != b"FINISHED" and not is_told:
        cells |= {name: blank for name, blank in ((b"draw_seed", b""), (b"seal", b"\\N")) if name in cells}
    return b"\t".join(cells.values()) + b"\n"


def _pack(backup: Path, copy: Path, data: Path) -> None:
    backup.touch(mode=0o600)
    with tarfile.open(backup, "w:gz", compresslevel=COMPRESSION) as packed:
        packed.add(copy, copy.name)
        for name in BESIDE:
            if (data / name).exists():
                packed.add(data / name, name)
