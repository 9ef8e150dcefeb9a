"""Everything of another database is copied into the site's own, exactly, or nothing is and a sentence says why."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import pytest_django
from django.conf import settings
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection, transaction

from leaguesite.environment import UnusableData
from leaguesite.hosting import moving
from leaguesite.hosting.backups import SQLITE
from leaguesite.hosting.place import lock_data_folder
from matches.models import Event, League
from storage import copying, databases, prepared
from tests.e2e.site import migrated_database

MOMENT = datetime(2025, 11, 29, 9, 30, 0, 123457, tzinfo=UTC)
TEXT = "שלום \u2028 'quoted' \\ \t\n 🎲"
HARD = {"z": 1e22, "a": [-0.0, 1.0, 0.1, 10**30, 1e25, 1.5e300, 1e-7, None, TEXT], "": {"b": True, "a": 2**63}}


@pytest.fixture(autouse=True)
def _connected(db: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Tests may connect with databases that no test has made."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a site that has never run."""
    data = tmp_path / "old"
    data.mkdir()
    shutil.copy(migrated_database(), data)
    return data


@pytest.fixture
def old(folder: Path) -> Path:
    """A data folder whose content types and permissions have other ids than those of a new database."""
    with closing(sqlite3.connect(folder / SQLITE)) as source, source:
        source.execute("UPDATE auth_permission SET id = id + 1000, content_type_id = content_type_id + 500")
        source.execute("UPDATE django_content_type SET id = id + 500")
    with copying.opened(databases.database(None, folder)):
        using = copying.SOURCE
        user = User.objects.using(using).create(username="ada", password="hashed", last_login=MOMENT)
        group = Group.objects.using(using).create(name="assistants")
        group.permissions.set(Permission.objects.using(using).filter(codename="view_league"))
        user.groups.set([group])
        Session.objects.using(using).create(session_key="s1", session_data="signed", expire_date=MOMENT)
        LogEntry.objects.using(using).create(
            user=user, content_type=ContentType.objects.using(using).get(model="league"), action_flag=ADDITION
        )
        for number, removed_at in enumerate((None, MOMENT)):
            league = League(
                pk=f"league{number}", display_name=TEXT, game_type="even_odd", created_at=MOMENT, remove_at=removed_at
            )
            league.save(using=using)
            for seq, data in enumerate((HARD, {}, [], "null"), 1):
                Event(id=seq + 100 * number + 7, league=league, seq=seq, kind="k", data=data, at=MOMENT).save(
                    using=using
                )
    with closing(sqlite3.connect(folder / SQLITE)) as source, source:
        source.execute("UPDATE matches_event SET data = 'null' WHERE seq = 2")
    return folder


def moved(source: object) -> dict[str, copying.Digest]:
    """Move a site; returns what the command is told of each table."""
    tables: dict[str, copying.Digest] = {}
    moving.move(str(source), tables.__setitem__)
    return tables


def with_floats(data: object) -> object:
    """The same with every number as a float: PostgreSQL reads 1e25 as a whole number, which no float is exactly."""
    return json.loads(json.dumps(data), parse_int=float)


def test_every_row_is_copied_exactly_also_hidden_ones(old: Path) -> None:
    tables = moved(old)
    assert {table: digest.rows for table, digest in tables.items() if digest.rows} == {
        "auth_group": 1,
        "auth_group_permissions": 1,
        "auth_permission": Permission.objects.count(),
        "auth_user": 1,
        "auth_user_groups": 1,
        "django_admin_log": 1,
        "django_content_type": ContentType.objects.count(),
        "django_session": 1,
        "matches_event": 8,
        "matches_league": 2,
    }
    assert [league.remove_at for league in League.with_hidden.order_by("pk")] == [None, MOMENT]
    events = list(Event.objects.order_by("pk"))
    assert [event.pk for event in events] == [8, 9, 10, 11, 108, 109, 110, 111]
    assert [with_floats(event.data) for event in events[:4]] == [with_floats(HARD), None, [], "null"]
    assert {event.at for event in events} == {MOMENT}
    # The ids of the source, which other rows have.
    assert ContentType.objects.order_by("pk").values_list("pk", flat=True)[0] > 500
    entry = LogEntry.objects.select_related("content_type").get()
    assert (entry.content_type is not None and entry.content_type.model) == "league"
    assert User.objects.get().has_perm("matches.view_league")
    # The next row gets an id that none has.
    assert Event.objects.create(league=League.objects.get(), seq=9, kind="k", at=MOMENT).pk > 111


def test_json_null_stays_apart_from_null_of_sql(old: Path) -> None:
    moved(old)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM matches_event WHERE data IS NOT NULL AND CAST(data AS text) = 'null'")
        assert cursor.fetchone() == (2,)


def test_the_digest_of_a_table_depends_on_every_cell_and_not_on_the_order(old: Path, tmp_path: Path) -> None:
    def digests() -> dict[str, copying.Digest]:
        with copying.opened(databases.database(None, old)), transaction.atomic():
            found = dict(copying.copy())
            transaction.set_rollback(True)
        return found

    before = digests()
    for change in (
        "UPDATE matches_event SET at = '2025-11-29 09:30:00.123458' WHERE id = 8",
        "UPDATE matches_event SET data = '{}' WHERE id = 8",
        "UPDATE matches_event SET kind = 'other' WHERE id = 111",
        "DELETE FROM matches_event WHERE id = 111",
    ):
        with closing(sqlite3.connect(old / SQLITE)) as source, source:
            source.execute(change)
        after = digests()
        assert {table for table in before if before[table] != after[table]} == {"matches_event"}, change
        before = after


def test_a_copy_that_ends_early_leaves_nothing(old: Path) -> None:
    class Interrupted(Exception):
        pass

    def tell(table: str, digest: copying.Digest) -> None:
        if table == "matches_event":
            raise Interrupted

    with pytest.raises(Interrupted):
        moving.move(str(old), tell)
    assert copying.filled() == {}
    assert moved(old)["matches_event"].rows == 8


def test_a_row_that_cannot_be_written_is_named_and_leaves_nothing(old: Path) -> None:
    with closing(sqlite3.connect(old / SQLITE)) as source, source:
        source.execute("UPDATE matches_event SET league_id = 'gone' WHERE id = 111")
    with pytest.raises(moving.NotMoved, match=r"Nothing was copied: .*matches_event"):
        moved(old)
    assert copying.filled() == {}


def test_a_copy_that_reads_otherwise_is_refused(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lossy(model: type[Any], names: list[str], rows: list[list[Any]]) -> None:
        for row in rows:
            row[:] = [value.replace(microsecond=0) if isinstance(value, datetime) else value for value in row]
        prepared.insert(model, names, rows)

    monkeypatch.setattr(copying, "insert", lossy)
    with pytest.raises(
        moving.NotMoved, match=r"Nothing was copied: \w+ has \d+ rows \(\w+\), and its copy \d+ \(\w+\)"
    ):
        moved(old)
    assert copying.filled() == {}


def test_a_database_that_has_rows_is_left_alone(old: Path) -> None:
    User.objects.create(username="instructor")
    with pytest.raises(moving.NotMoved, match=r"must be empty, and it has rows \(auth_user has 1\)"):
        moved(old)
    assert copying.filled() == {"auth_user": 1}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("/nowhere", r"There is no league.sqlite3 in /nowhere"),
        ("mysql://db/league", r"must begin with postgres://"),
        ("postgres://db/league?pgbouncer=true", r"give the URL of PostgreSQL itself"),
        ("postgres://postgres@127.0.0.1:1/league", r"Nothing was copied: .*127\.0\.0\.1"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused(source: str, why: str) -> None:
    with pytest.raises(moving.NotMoved, match=why):
        moved(source)


def test_the_site_s_own_database_is_no_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = databases.database(None, folder)
    for name in ("ENGINE", "NAME", "HOST", "PORT"):
        monkeypatch.setitem(connection.settings_dict, name, own.get(name, ""))
    with pytest.raises(moving.NotMoved, match=r"is this site's own database"):
        moved(folder)


@pytest.mark.parametrize(("sqlite", "postgresql"), [("1e+25", f"{10**25}"), ("1.5e+300", f"{15 * 10**299}")])
def test_a_large_number_is_the_same_in_both_ways_of_writing_it(sqlite: str, postgresql: str) -> None:
    one, other = (copying._digest([[[prepared.JsonText(text)]]]) for text in (sqlite, postgresql))
    assert one == other


def test_the_password_in_the_source_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgres://league:hush@127.0.0.1:1/league"
    own = databases.database(url, Path())
    for name in ("ENGINE", "NAME", "HOST", "PORT"):
        monkeypatch.setitem(connection.settings_dict, name, own.get(name, ""))
    with pytest.raises(moving.NotMoved, match="site's own database") as refused:
        moved(url)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (
            "DELETE FROM django_migrations WHERE app = 'matches'",
            r"The source lacks \d+ migrations, from matches\.0001_\w+ on: it is of an older version",
        ),
        (
            "INSERT INTO django_migrations (app, name, applied) VALUES ('matches', '9999_later', '2030-01-01')",
            r"of a newer version, which has matches\.9999_later",
        ),
        (
            "INSERT INTO matches_conductorlease VALUES ('c1', 'laptop:4711', datetime('now', '+2 seconds'))",
            r"still runs on the source \(conductor laptop:4711\)",
        ),
    ],
)
def test_a_source_of_another_version_or_in_use_is_refused(old: Path, statement: str, why: str) -> None:
    with closing(sqlite3.connect(old / SQLITE)) as source, source:
        source.execute(statement)
    with pytest.raises(moving.NotMoved, match=why):
        moved(old)
    assert copying.filled() == {}


def test_the_lease_of_a_conductor_that_has_ended_is_no_obstacle(old: Path) -> None:
    with closing(sqlite3.connect(old / SQLITE)) as source, source:
        source.execute("INSERT INTO matches_conductorlease VALUES ('c1', 'laptop:4711', datetime('now', '-1 seconds'))")
    assert moved(old)["matches_conductorlease"].rows == 1


def test_a_data_folder_that_a_host_uses_is_refused_and_no_host_starts_meanwhile(old: Path) -> None:
    held = lock_data_folder(old, "process 4711, port 8000")
    with pytest.raises(UnusableData, match=r"in use by another host \(process 4711, port 8000\)"):
        moved(old)
    os.close(held)

    def tell(table: str, digest: copying.Digest) -> None:
        with pytest.raises(UnusableData, match=r"manage\.py import_database"):
            lock_data_folder(old, "a host")
        # Nor does anybody else write.
        with (
            closing(sqlite3.connect(old / SQLITE, timeout=0)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("DELETE FROM matches_event")

    moving.move(str(old), tell)
    os.close(lock_data_folder(old, "a host"))


def test_the_command_says_what_it_has_copied_and_which_keys_to_take_along(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAGUE_API_KEY", raising=False)
    monkeypatch.setattr(settings, "LEAGUE_API_KEY_FILE", old.parent / "new" / "api_key.sha256")
    (old / "keys").mkdir()
    (old / "keys" / "secret_key").write_text("the key of the old site")
    (old / "keys" / "referee_key").write_text(settings.LEAGUE_REFEREE_KEY + "\n")
    (old / "keys" / "api_key.sha256").write_text("0" * 64)
    output = StringIO()
    call_command("import_database", str(old), stdout=output)
    text = output.getvalue()
    assert re.search(r"^matches_event +8  [0-9a-f]{32}$", text, re.MULTILINE)
    assert re.search(r"^All \d+ rows of \d+ tables are here, and read as in the source.$", text, re.MULTILINE)
    assert "secret_key is not this site's key. Set LEAGUE_SECRET_KEY to it on every machine" in text
    assert "referee_key is" not in text
    assert "set LEAGUE_API_KEY to the instructor's API key" in text
    assert "Now start this site." in text
