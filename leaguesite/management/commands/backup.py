"""``manage.py backup``: the site's database, keys and ports as one file, also while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandParser

from leaguesite.hosting.backups import back_up


class Command(BaseCommand):
    help = (
        "Write database, keys and ports of the site into one file (.tar.gz), also while the site runs. "
        "Keep it secret. Restore: unpack it into an empty data folder; docs/deployment.md."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write; it must not exist yet")
        parser.add_argument("--data", help="folder of the site (default: data)")

    def handle(self, **options: Any) -> None:
        size = back_up(options["file"], database=settings.DATABASES["default"], data=settings.DATA_DIR)
        self.stdout.write(f"{options['file']} is written: {size / 1024:.0f} KiB.")
