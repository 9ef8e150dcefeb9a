"""What every process of the site that serves has to settle before it begins: its names, its ports, its first rows."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

from leaguesite.environment import security
from leaguesite.hosting.addresses import EVERYWHERE, host_of, own_names
from matches.league import opening
from matches.models import League

_CREATE = ("createdb", "--encoding", "UTF8", "--locale", "C.UTF-8", "--template", "template0")

_migrated = False


def near_url(host: str, port: int) -> str:
    """The site as this machine reaches it."""
    near = "127.0.0.1" if host in EVERYWHERE else host
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def settle(*, public_url: str, host: str, port: int) -> None:
    """Put into the settings where this process is; to be called before the application is imported.

    Args:
        public_url: the address students use.
        host: the address it listens at.
        port: its port, at which no agent can be.
    """
    names = {host_of(public_url), host_of(near_url(host, port))}
    if host in EVERYWHERE:
        names.update(own_names())
    settings.ALLOWED_HOSTS = sorted({*settings.ALLOWED_HOSTS, *names})
    settings.CSRF_TRUSTED_ORIGINS = sorted({*settings.CSRF_TRUSTED_ORIGINS, public_url})
    settings.LEAGUE_PUBLIC_URL = public_url
    refuse_ports([port])
    for name, value in security(public_url, settings.LEAGUE_TRUSTED_PROXIES).items():
        setattr(settings, name, value)


def refuse_ports(ports: Iterable[int]) -> None:
    """No agent may have these ports of this machine as its address."""
    settings.LEAGUE_REFUSED_PORTS = sorted({*settings.LEAGUE_REFUSED_PORTS, *ports})


def make_tables() -> None:
    """Bring the database's tables up to date.

    Raises:
        CommandError: the database cannot hold what agents say, or cannot be used at all.
    """
    try:
        _refuse_encoding()
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
        # A server that was installed without a locale makes others: found out at the first match, in front of a class.
        if encoding != "UTF8":
            user, name = connection.settings_dict["USER"], connection.settings_dict["NAME"]
            words = [*_CREATE, *(("--owner", user) if user else ()), name]
            raise CommandError(
                f"The database has the encoding {encoding}, and what agents say is UTF8. "
                f"Make it anew: {shlex.join(words)}"
            )


def ensure_league() -> None:
    """A site has a league that agents can register for, unless there are leagues already."""
    if not League.objects.filter(demo=False).exists():
        opening.create_league(league_id=settings.LEAGUE_DEFAULT_ID, display_name="Even/Odd League 2025")


def migrations_checked() -> str:
    """What is wrong with the database's tables; empty when nothing is, which is found out once."""
    global _migrated  # noqa: PLW0603 - a running process does not lose migrations
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "" if _migrated else "the database is not migrated: run `manage.py prepare`"
