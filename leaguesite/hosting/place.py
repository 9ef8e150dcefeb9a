"""What a process of the site settles before it serves: its names, its port, its data folder, its first rows."""

from __future__ import annotations

import fcntl
import os
import shlex
from pathlib import Path

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

from leaguesite.environment import LOOPBACK, UnusableData, security
from leaguesite.hosting.addresses import EVERYWHERE, MAX_PORT, host_of, is_elsewhere, is_free, names_of_this_machine
from matches.league import entry, opening
from matches.models import League
from matches.view.offered import offered_games
from storage.databases import unhurried

_CREATEDB = ("createdb", "--encoding", "UTF8", "--locale", "C.UTF-8", "--template", "template0")

NO_REDIS = (
    "REDIS_URL is not set. Without Redis a process cannot tell the browsers of another one what has changed, nor wake "
    "its conductor: run `manage.py host`, which is the whole site in one process, or set REDIS_URL for all processes."
)

_migrated = False


def local_url(host: str, port: int) -> str:
    """The site as this machine reaches it."""
    near = "127.0.0.1" if host in EVERYWHERE else host
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def apply_addresses(*, public_url: str, host: str, port: int) -> None:
    """Put the addresses of this process into the settings. To be called before the application is imported.

    The site itself speaks plain http. So behind a public address with https, or of another machine, stands a proxy or a
    tunnel, which connects from this machine: it is trusted, unless ``LEAGUE_TRUSTED_PROXIES`` says who is.

    Args:
        public_url: the address students use.
        host: the address it listens at.
        port: its port, which no agent on this machine can have.
    """
    names = {host_of(public_url), host_of(local_url(host, port))}
    if host in EVERYWHERE:
        names.update(names_of_this_machine())
    settings.ALLOWED_HOSTS = sorted({*settings.ALLOWED_HOSTS, *names})
    https = public_url.startswith("https://")
    if "LEAGUE_TRUSTED_PROXIES" not in os.environ and (https or is_elsewhere(public_url)):
        settings.LEAGUE_TRUSTED_PROXIES = LOOPBACK
    # Some tunnels write this machine's address in place of their own into Origin, with either scheme.
    near = [f"{scheme}://{name}:{port}" for scheme in ("http", "https") for name in ("localhost", "127.0.0.1")]
    own = [public_url, *(near if https else [])]
    settings.CSRF_TRUSTED_ORIGINS = sorted({*settings.CSRF_TRUSTED_ORIGINS, *own})
    settings.LEAGUE_PUBLIC_URL = public_url
    settings.LEAGUE_REFUSED_PORTS = sorted({*settings.LEAGUE_REFUSED_PORTS, port})
    for name, value in security(public_url, settings.LEAGUE_TRUSTED_PROXIES).items():
        setattr(settings, name, value)


def require_port(host: str, port: int) -> None:
    """Refuse a port that somebody else listens at, and a number that no port has.

    Raises:
        CommandError: with a sentence that says what to do.
    """
    if not 1 <= port <= MAX_PORT:
        raise CommandError(f"--port {port} cannot be used: choose a port from 1 to {MAX_PORT}.")
    if not is_free(host, port):
        raise CommandError(f"Port {port} at {host} is in use. Stop what listens there, or choose another with --port.")


def require_redis() -> None:
    """Refuse to be one of several processes that do not hear of each other.

    Raises:
        CommandError: with a sentence that says what to run instead.
    """
    if settings.CHANNEL_LAYERS["default"]["BACKEND"] == "channels.layers.InMemoryChannelLayer":
        raise CommandError(NO_REDIS)


def lock_data_folder(folder: Path, about: str) -> int:
    """Lock the data folder for as long as this process lives, however it ends; children do not inherit the lock.

    Two hosts on one database would each take matches away from the referees of the other.

    Args:
        folder: the data folder.
        about: who we are, to be told to a second host.

    Returns the descriptor that holds the lock; closing it releases the folder.

    Raises:
        UnusableData: another process has it; the text says which, and what to do.
        OSError: the folder cannot be written to.
    """
    descriptor = os.open(folder / "host.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 200).decode("utf-8", "replace").strip()
        os.close(descriptor)
        raise UnusableData(
            f"The data folder {folder} is in use by another host ({holder or 'it does not say which'}). "
            "Stop that one, or choose another folder with --data."
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, about.encode(), 0)
    return descriptor


def migrate_database() -> None:
    """Bring the database's tables up to date.

    Raises:
        CommandError: the database cannot store UTF-8 text, or cannot be used at all.
    """
    try:
        _refuse_encoding()
        with unhurried():
            call_command("migrate", verbosity=0, interactive=False)
    except Error as error:
        where = connection.settings_dict["NAME"]
        raise CommandError(
            f"The database {where} cannot be used: {error}. See that it is there and may be written to; "
            "a file that is damaged is put back from a backup (docs/deployment.md)."
        ) from None


def _refuse_encoding() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_encoding")
            [encoding] = cursor.fetchone()
        # A server installed without a locale makes other encodings, which would fail at the first match of a class.
        if encoding != "UTF8":
            user, name = connection.settings_dict["USER"], connection.settings_dict["NAME"]
            words = [*_CREATEDB, *(("--owner", user) if user else ()), name]
            raise CommandError(
                f"The database has the encoding {encoding}, and what agents say is UTF8. "
                f"Create it again: {shlex.join(words)}"
            )


def ensure_league() -> None:
    """Create a league that agents can register for, unless there are leagues already; hidden ones do not count."""
    if not League.objects.filter(demo=False).exists():
        offered = list(offered_games())
        game = "even_odd" if "even_odd" in offered else offered[0]
        opening.create_league(league_id=entry.next_league_id(), display_name="Even/Odd League 2025", game_type=game)


def check_migrations() -> str:
    """What is wrong with the database's tables; empty when nothing is. A good result is remembered."""
    global _migrated  # noqa: PLW0603 - a running process does not lose migrations
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "" if _migrated else "the database is not migrated: run `manage.py prepare`"
