"""The backup of a site: complete, from one moment, without secrets of open matches, and never half written."""

from __future__ import annotations

import sqlite3
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from leaguesite.hosting.backups import BackupFailed, back_up, libpq_variables, without_secrets
from storage.databases import SESSION, database
from tests.tar_files import unpack


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a database in which two tables always have the same number of rows."""
    folder = tmp_path / "data"
    (folder / "keys").mkdir(parents=True, mode=0o700)
    (folder / "logs").mkdir()
    (folder / "keys" / "secret_key").touch(mode=0o600)
    (folder / "keys" / "secret_key").write_text("the key")
    (folder / "ports.json").write_text("{}")
    with closing(sqlite3.connect(folder / "league.sqlite3")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE one (n)")
        database.execute("CREATE TABLE other (n)")
        database.commit()
    return folder


def settings_of(data: Path) -> dict[str, Any]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": data / "league.sqlite3"}


@pytest.fixture
def _writing(data: Path) -> Iterator[None]:
    """Write both tables in one transaction, again and again, in a thread."""
    ending, begun = threading.Event(), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(data / "league.sqlite3", timeout=20)) as database:
            while not ending.is_set():
                with database:
                    database.execute("INSERT INTO one VALUES (randomblob(500))")
                    database.execute("INSERT INTO other VALUES (randomblob(500))")
                begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(30)
    yield
    ending.set()
    thread.join(30)


@pytest.mark.usefixtures("_writing")
def test_a_backup_is_of_one_moment_while_others_write(data: Path, tmp_path: Path) -> None:
    counts = []
    for number in range(3):
        back_up(tmp_path / f"{number}.tar.gz", database=settings_of(data), data=data)
        with tarfile.open(tmp_path / f"{number}.tar.gz") as backup:
            member = backup.extractfile("league.sqlite3")
            assert member is not None
            (tmp_path / f"{number}.sqlite3").write_bytes(member.read())
        with closing(sqlite3.connect(tmp_path / f"{number}.sqlite3")) as copy:
            one = copy.execute("SELECT count(*) FROM one").fetchone()[0]
            other = copy.execute("SELECT count(*) FROM other").fetchone()[0]
        assert one == other
        counts.append(one)
    assert counts == sorted(counts)
    assert counts[0] > 0


def test_a_backup_has_keys_database_and_ports_and_only_its_owner_may_read_it(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "site.tar.gz"
    assert back_up(file, database=settings_of(data), data=data) == file.stat().st_size
    assert file.stat().st_mode & 0o777 == 0o600
    with tarfile.open(file) as backup:
        assert sorted(backup.getnames()) == ["keys", "keys/secret_key", "league.sqlite3", "ports.json"]
        assert {name: backup.getmember(name).mode & 0o777 for name in ("keys", "keys/secret_key")} == {
            "keys": 0o700,
            "keys/secret_key": 0o600,
        }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "site.tar.gz"]


def test_a_backup_of_sqlite_holds_no_secret_seed_and_no_secret_verdict(data: Path, tmp_path: Path) -> None:
    """Otherwise the reader of a backup would know the numbers of matches in play."""
    with closing(sqlite3.connect(data / "league.sqlite3")) as database:
        database.execute("CREATE TABLE matches_match (state, draw_seed, seal)")
        rows = [
            ("FINISHED", "5eed0f0ne", "{}"),
            ("ASSIGNED", "5eed0ftw0", '{"winner_player_id": "P01"}'),
            ("READY", "5eed0fthree", None),
            # Its players were told the verdict: without it in the backup, the match would be played again.
            ("DRAWING_NUMBER", "5eed0f4", '{"told": true}'),
        ]
        database.executemany("INSERT INTO matches_match VALUES (?, ?, ?)", rows)
        database.commit()
    file = tmp_path / "site.tar.gz"
    back_up(file, database=settings_of(data), data=data)
    unpack(file, tmp_path / "out")
    copy = tmp_path / "out" / "league.sqlite3"
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT * FROM matches_match ORDER BY rowid").fetchall() == [
            ("FINISHED", "5eed0f0ne", "{}"),
            ("ASSIGNED", "", None),
            ("READY", "", None),
            ("DRAWING_NUMBER", "5eed0f4", '{"told": true}'),
        ]
    assert (b"5eed0f0ne" in copy.read_bytes(), b"5eed0ftw0" in copy.read_bytes()) == (True, False)


def test_a_dump_of_postgresql_holds_no_secret_seed_and_no_secret_verdict() -> None:
    dump = b"""COPY public.matches_message (id, entry) FROM stdin;
1\t{"state": "READY"}
\\.

COPY public.matches_match (id, state, reason, seal, "play", draw_seed) FROM stdin;
1\tFINISHED\ta\\tb\t{"told": true}\t1\tseed1
2\tREADY\tCOPY public.matches_match (\t\\N\t1\tseed2
3\tDRAWING_NUMBER\t\t{"reason": "said \\\\"no\\\\"", "draw": 3}\t1\tseed3
4\tDRAWING_NUMBER\t\t{"reason": "said \\\\"no\\\\" \\\\\\\\", "told": true}\t1\tseed4
\\.

COPY public.other (state, seal, draw_seed) FROM stdin;
READY\t{}\tseed5
\\.
"""
    expected = (
        dump.replace(b"seed2", b"")
        .replace(b"seed3", b"")
        .replace(b'{"reason": "said \\\\"no\\\\"", "draw": 3}', b"\\N")
    )
    assert b"".join(without_secrets(dump.splitlines(keepends=True))) == expected
    with pytest.raises(BackupFailed, match="writes no COPY"):
        list(without_secrets([b"INSERT INTO public.matches_match VALUES (1);\n"]))


def test_an_earlier_backup_is_not_written_over(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "site.tar.gz"
    file.write_text("an earlier backup")
    with pytest.raises(BackupFailed, match="is there already"):
        back_up(file, database=settings_of(data), data=data)
    assert file.read_text() == "an earlier backup"


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: (data / "league.sqlite3").unlink(), "There is no database at"),
        (lambda data: (data / "league.sqlite3").write_bytes(b"no database" * 1000), "cannot be read"),
    ],
)
def test_a_missing_or_damaged_database_is_named_and_leaves_no_file(
    data: Path, tmp_path: Path, damage: Any, why: str
) -> None:
    damage(data)
    with pytest.raises(BackupFailed, match=why):
        back_up(tmp_path / "site.tar.gz", database=settings_of(data), data=data)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_backup_into_a_missing_folder_says_so(data: Path, tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="cannot be written: No such file or directory"):
        back_up(tmp_path / "nowhere" / "site.tar.gz", database=settings_of(data), data=data)


def test_pg_dump_is_not_run_through_pgbouncer(tmp_path: Path) -> None:
    url = "postgres://bouncer:6432/league?pgbouncer=true"
    with pytest.raises(BackupFailed, match="PgBouncer"):
        back_up(tmp_path / "site.tar.gz", database=database(url, tmp_path), data=tmp_path)


def test_pg_dump_gets_the_keywords_of_the_database_s_url_in_its_environment() -> None:
    url = "postgres://ada:secret@db:5433/league?sslmode=verify-full&sslrootcert=/ca.pem"
    variables = libpq_variables(database(url, Path()))
    # pg_dump itself lifts the limits of its session.
    assert (variables.pop("PGOPTIONS"), variables.pop("PGCONNECT_TIMEOUT")) == (SESSION, "2")
    assert variables == {
        "PGHOST": "db",
        "PGPORT": "5433",
        "PGUSER": "ada",
        "PGPASSWORD": "secret",
        "PGDATABASE": "league",
        "PGSSLMODE": "verify-full",
        "PGSSLROOTCERT": "/ca.pem",
    }


def test_a_backup_without_pg_dump_says_what_to_install(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": "league"}
    with pytest.raises(BackupFailed, match="postgresql-client"):
        back_up(tmp_path / "site.tar.gz", database=database, data=data)


def test_the_command_backs_up_the_site_of_the_settings(
    data: Path, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.DATA_DIR = data
    monkeypatch.setitem(settings.DATABASES, "default", settings_of(data))
    call_command("backup", tmp_path / "site.tar.gz")
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'site.tar.gz'} is written: ")
    with pytest.raises(CommandError, match="is there already"):
        call_command("backup", tmp_path / "site.tar.gz")
