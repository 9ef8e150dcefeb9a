"""``manage.py referee``: replaces itself by a referee, which knows neither Django nor the database."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandParser

from league_sdk.log_files import FOLDER_VARIABLE
from leaguesite.environment import BASE_DIR
from leaguesite.hosting.addresses import public_url


class Command(BaseCommand):
    help = "Run one referee: registers with a league, plays matches, reports."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--league", required=True, help="the league manager's address, http://…/mcp")
        parser.add_argument("--dial-out", action="store_true", help="open no port: fetch messages from the league")
        parser.add_argument("--port", type=int, default=8001)
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
        parser.add_argument("--endpoint", help="the address players and the league manager call")
        parser.add_argument("--name", help="shown in the admin; by name and port the league knows it again")
        parser.add_argument("--max-concurrent", type=int, default=32, help="matches at once")
        parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input ends")

    def handle(self, **options: Any) -> None:
        words: list[str] = []
        # Of a referee that listens everywhere: an address of this machine, as "everywhere" cannot be called.
        options["endpoint"] = options["endpoint"] or f"{public_url(options['host'], options['port'], None)}/mcp"
        for name in ("league", "port", "host", "endpoint", "name", "max_concurrent"):
            if options[name] not in (None, ""):
                words += [f"--{name.replace('_', '-')}", str(options[name])]
        words += [f"--{name.replace('_', '-')}" for name in ("dial_out", "exit_with_parent") if options[name]]
        os.environ.setdefault("LEAGUE_REFEREE_KEY", settings.LEAGUE_REFEREE_KEY)
        os.environ.setdefault(FOLDER_VARIABLE, str(settings.DATA_DIR / "logs"))
        os.chdir(BASE_DIR)
        # So that the process list goes on showing what was typed.
        command = [sys.executable, "-m", "league_sdk.judging", "--started-by", "manage.py", "referee", *words]
        os.execv(sys.executable, command)  # noqa: S606 - our own interpreter, no shell
