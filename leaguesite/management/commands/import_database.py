"""``manage.py import_database``: everything from another database, into the empty one of this site."""

from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand, CommandParser

from leaguesite.hosting import moving
from leaguesite.hosting.place import migrate_database
from storage.copying import Digest


class Command(BaseCommand):
    help = (
        "Copy everything from another database of a site (SQLite in a data folder, or PostgreSQL) into this site's "
        "own, which must be empty. Stop the old site first; docs/deployment.md says what else moves."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "source", help="the old data folder, or postgres://user@host:5432/name with its password in PGPASSWORD"
        )
        parser.add_argument("--data", help="folder of the new site (default: data)")

    def handle(self, **options: Any) -> None:
        migrate_database()
        copied: dict[str, Digest] = {}

        def tell(table: str, digest: Digest) -> None:
            copied[table] = digest
            self.stdout.write(f"{table:<36}{digest.rows:>12,}  {digest.value}")

        self.stdout.write(f"{'table':<36}{'rows':>12}  digest of the rows, the same in both databases")
        moving.move(options["source"], tell)
        rows = sum(digest.rows for digest in copied.values())
        self.stdout.write(f"All {rows:,} rows of {len(copied)} tables are here, and read as in the source.")
        for sentence in moving.beside(options["source"]):
            self.stdout.write(sentence)
        self.stdout.write(
            "Now start this site. Leave the old one stopped, as both would call the players, and keep its database "
            "until the league has gone on here and `league verify` holds."
        )
