"""``manage.py shared``: write the folder SHARED again from the database."""

from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from leaguesite.hosting import shared_folder


class Command(BaseCommand):
    help = (
        "Write data/SHARED again: every league's files of chapter 9, as the public sees them. "
        "The site may run meanwhile; it keeps them up to date by itself."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--data", help="folder of the site (default: data)")

    def handle(self, **options: Any) -> None:
        try:
            files = shared_folder.rebuild()
        except OSError as error:
            raise CommandError(f"{shared_folder.folder()} cannot be written: {error}.") from None
        self.stdout.write(f"{shared_folder.folder()} is written: {files} files.")
