"""A copy of everything the site knows, taken while it runs: the database as of one moment, keys, the referees' ports.

One archive, so that nobody keeps a database without the keys that its tokens were made with. Restoring needs no command
of ours: docs/deployment.md.
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

SQLITE, POSTGRES = "league.sqlite3", "league.sql"
BESIDE = ("keys", "ports.json")
"""What of the data folder goes with the database. Logs and static files do not."""
FASTEST = 3
"""Of gzip's levels: the smaller files of higher ones take several times as long, and the site runs beside us."""
_STILL_HIDDEN = "state <> 'FINISHED' AND (seal IS NULL OR json_extract(seal, '$.told') IS NOT 1)"
"""Matches whose seed, and verdict if there is one, nobody may know yet (ruling, section 12)."""


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
                copy.execute(f"UPDATE matches_match SET draw_seed = '', seal = NULL WHERE {_STILL_HIDDEN}")  # noqa: S608 - ours
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
    # As text, so that what is secret is left out on its way: it is never on the disk.
    command = ["pg_dump", "--format=plain", "--encoding=UTF8", "--no-owner", "--no-privileges"]
    with tempfile.TemporaryFile() as said, target.open("wb") as dump:
        with subprocess.Popen(command, env=os.environ | given, stdout=subprocess.PIPE, stderr=said) as dumping:
            dump.writelines(without_secrets(dumping.stdout or ()))
        if dumping.returncode:
            said.seek(0)
            raise BackupFailed(f"pg_dump failed: {said.read().decode(errors='replace').strip()}")
    return target


def without_secrets(dump: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a plain pg_dump without the seeds and verdicts that nobody may know yet (ruling, section 12).

    Args:
        dump: its lines, with their ends.

    Raises:
        BackupFailed: the matches are not written as expected; what is secret could not be told from the rest.
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
    """One match as COPY writes it: cells between tabs, with backslashes before what is special."""
    cells = dict(zip(columns, row.rstrip(b"\n").split(b"\t"), strict=True))
    seal = cells.get(b"seal", b"\\N")
    # JSON has no other backslashes than its own, which COPY doubles.
    told = seal != b"\\N" and json.loads(seal.replace(b"\\\\", b"\\")).get("told")
    if cells[b"state"] != b"FINISHED" and not told:
        cells |= {name: blank for name, blank in ((b"draw_seed", b""), (b"seal", b"\\N")) if name in cells}
    return b"\t".join(cells.values()) + b"\n"


def _pack(archive: Path, copy: Path, data: Path) -> None:
    archive.touch(mode=0o600)
    with tarfile.open(archive, "w:gz", compresslevel=FASTEST) as packed:
        packed.add(copy, copy.name)
        for name in BESIDE:
            if (data / name).exists():
                packed.add(data / name, name)
