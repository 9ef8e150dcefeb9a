"""``manage.py prepare``: what ``host`` does before it serves, for a site of several processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import connection

from leaguesite.environment import UnusableData
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
        try:
            configuration = use(options["config"])
            with _one_at_a_time():
                migrate_database()
                open_leagues(configuration)
                first = ensure_accounts()
                ensure_league()
        except UnusableData as error:
            raise CommandError(str(error)) from None
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
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
