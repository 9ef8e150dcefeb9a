"""Move a site to another database: what is refused before, and what has to be taken along beside the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.db import Error, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models.functions import Now

from leaguesite.hosting.backups import SQLITE
from leaguesite.hosting.place import lock_data_folder
from matches.models import ConductorLease
from storage import copying
from storage.databases import database, unhurried

_SAME = ("ENGINE", "NAME", "HOST", "PORT")
_KEYS = {
    "secret_key": ("SECRET_KEY", "LEAGUE_SECRET_KEY", "logins end, and agents get other values of league_token"),
    "referee_key": ("LEAGUE_REFEREE_KEY", "LEAGUE_REFEREE_KEY", "referees on other machines are refused"),
}
"""The keys of a data folder that another machine needs: the setting, the variable, and what another key would cost."""


class NotMoved(CommandError):
    """Nothing was copied, and the new database has no row of the old one; the text says why."""


def move(source: str, tell: Callable[[str, copying.Digest], None]) -> None:
    """Copy every row of another database into the site's own, which has been migrated and has none.

    Args:
        source: a data folder with SQLite, or the URL of a PostgreSQL database.
        tell: is called after each table, with its name and what both databases have in it.

    Raises:
        UnusableData: a host uses the source.
        NotMoved: the source is in use or of another version, or the site's database has rows, or a row cannot be
            written there.
    """
    if filled := copying.filled():
        listed = ", ".join(f"{table} has {count}" for table, count in filled.items())
        raise NotMoved(
            f"The new database must be empty, and it has rows ({listed}). Make another one (createdb), and do not run "
            "`manage.py prepare` or the site on it before this command."
        )
    try:
        with ExitStack() as stack:
            old = stack.enter_context(_opened(source))
            _refuse_other_version(old)
            stack.enter_context(unhurried(copying.SOURCE))
            stack.enter_context(unhurried())
            # On SQLite this keeps every writer away from the source, on PostgreSQL the lock does.
            stack.enter_context(transaction.atomic(using=copying.SOURCE))
            stack.enter_context(transaction.atomic())
            _refuse_in_use(old)
            for table, digest in copying.copy():
                tell(table, digest)
    except (Error, copying.CopyDiffers) as error:
        raise NotMoved(f"Nothing was copied: {str(error).strip()}") from error


@contextmanager
def _opened(source: str) -> Iterator[Any]:
    """A connection to the source, which no host may start on until the block ends."""
    descriptor = None
    if "://" in source:
        try:
            found = database(source, Path())
        except ValueError as error:
            raise NotMoved(str(error)) from None
    else:
        folder = Path(source)
        if not (folder / SQLITE).is_file():
            raise NotMoved(f"There is no {SQLITE} in {source}: name the old data folder, or a URL postgres://…")
        try:
            descriptor = lock_data_folder(folder, f"manage.py import_database, process {os.getpid()}")
        except OSError as error:
            raise NotMoved(
                f"The data folder {source} cannot be written to, as its host would: {error.strerror}."
            ) from None
        found = database(None, folder.resolve())
    try:
        for one in (found, connection.settings_dict):
            if one.get("DISABLE_SERVER_SIDE_CURSORS"):
                raise NotMoved("A copy takes longer than a session of PgBouncer: give the URL of PostgreSQL itself.")
        if all(str(found.get(name, "")) == str(connection.settings_dict.get(name, "")) for name in _SAME):
            raise NotMoved("The source is this site's own database: set DATABASE_URL or --data to the new one.")
        with copying.opened(found) as old:
            yield old
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _refuse_other_version(old: Any) -> None:
    executor = MigrationExecutor(old)
    loader = executor.loader
    missing = [f"{one.app_label}.{one.name}" for one, _ in executor.migration_plan(loader.graph.leaf_nodes())]
    if missing:
        raise NotMoved(
            f"The source lacks {len(missing)} migrations, from {missing[0]} on: it is of an older version, or no "
            "database of this site. Start this version on it once, and stop it."
        )
    ours = {name for name in loader.applied_migrations if name[0] in loader.migrated_apps}
    unknown = sorted(f"{app}.{name}" for app, name in ours - set(loader.disk_migrations or ()))
    if unknown:
        raise NotMoved(f"The source is of a newer version, which has {', '.join(unknown)}: install that version here.")


def _refuse_in_use(old: Any) -> None:
    """Refuse a source that processes of the site use. To be called in a transaction of the source."""
    running = ConductorLease.objects.using(copying.SOURCE).filter(until__gt=Now()).values_list("holder", flat=True)
    if running:
        raise NotMoved(
            f"The site still runs on the source (conductor {', '.join(running)}): stop all its processes. A conductor "
            "that was killed counts as running for three seconds."
        )
    if old.vendor != "postgresql":
        return
    with old.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), string_agg(DISTINCT coalesce(host(client_addr), 'a socket'), ', ') FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        count, addresses = cursor.fetchone()
        if count:
            raise NotMoved(f"{count} other sessions use the source (from {addresses}): end them first.")
        names = ", ".join(old.ops.quote_name(model._meta.db_table) for model in copying.tables())
        cursor.execute(f"LOCK TABLE {names} IN SHARE MODE")


def beside(source: str) -> list[str]:
    """What the old site needs besides its rows, a sentence for each thing that this site does not have yet."""
    folder = Path(source)
    sentences = []
    for name, (setting, variable, cost) in _KEYS.items():
        file = folder / "keys" / name
        if file.is_file() and file.read_bytes().strip() != getattr(settings, setting).encode():
            sentences.append(f"{file} is not this site's key. Set {variable} to it on every machine; otherwise {cost}.")
    old, own = folder / "keys" / "api_key.sha256", settings.LEAGUE_API_KEY_FILE
    if old.is_file() and not (os.environ.get("LEAGUE_API_KEY") or own.is_file()):
        sentences.append(f"{old} is a hash: set LEAGUE_API_KEY to the instructor's API key, or to a new one.")
    return sentences
