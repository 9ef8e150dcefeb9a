"""``manage.py import_league``: import a league from its export, to be read and not played on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from leaguesite.hosting.place import migrate_database
from matches.league.errors import ActionRefused
from matches.papers.importing import import_league


class Command(BaseCommand):
    help = "Import a league from its export: league.json, or the ZIP. It can be read here, not played on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the export")
        parser.add_argument("--data", help="folder of the site that it is imported into (default: data)")

    def handle(self, **options: Any) -> None:
        # The site may never have run yet.
        migrate_database()
        try:
            with options["file"].open("rb") as file:
                imported = import_league(file=file)
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from None
        except ActionRefused as refusal:
            raise CommandError(str(refusal)) from None
        stopped = " It was still being played, and is stopped here." if imported.stopped else ""
        self.stdout.write(f"{imported.league.pk} is imported: {imported.matches} matches.{stopped} {imported.ledger}")
        sys.stdout.flush()
