"""``manage.py prepare``: what ``host`` does before it serves, for a site of several processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import BaseCommand, CommandParser
from django.db import connection

from leaguesite.hosting.configuration import open_leagues, use
from leaguesite.hosting.place import ensure_league, migrate_database
from leaguesite.login.accounts import INSTRUCTOR, ensure_accounts

LOCK = 0x1EA60E
"""The number of our advisory lock in PostgreSQL."""


class Command(BaseCommand):
    help = (
        "Make the database ready: its tables, the instructor's account, the first league. Safe to repeat, and on "
        "PostgreSQL safe if several processes do it at once."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        # Django's settings need the folder, so it is read before them (leaguesite.environment.export_data_folder).
        parser.add_argument("--data", help="folder of the site (default: data)")
        parser.add_argument("--config", metavar="FOLDER", help="read system.json, leagues and games from there")

    def handle(self, **options: Any) -> None:
        configuration = use(options["config"])
        with _one_at_a_time():
            migrate_database()
            open_leagues(configuration)
            first = ensure_accounts()
            ensure_league()
        if first.password:
            self.stdout.write(f"Login    {INSTRUCTOR} / {first.password}    (shown this once)")
        if first.api_key:
            self.stdout.write(f"API key  {first.api_key}    (shown this once)")
        self.stdout.write("The database is ready.")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Every process of a site may prepare it before it begins: on PostgreSQL they do so one after the other."""
    if connection.vendor != "postgresql":
        yield
        return
    # In a transaction of a connection of its own: through PgBouncer a session is not ours for longer than that.
    driver: Any = connection
    with driver.Database.connect(**driver.get_connection_params()) as waiting:
        waiting.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        waiting.execute("SET LOCAL statement_timeout = 0")
        waiting.execute("SET LOCAL lock_timeout = 0")
        waiting.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        yield
