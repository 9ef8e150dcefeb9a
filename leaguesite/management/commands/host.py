"""``manage.py host``: everything in one command."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandParser

from league_sdk import tracing
from leaguesite.hosting.addresses import EVERYWHERE, public_url
from leaguesite.hosting.configuration import open_leagues, use
from leaguesite.hosting.place import lock_data_folder, migrate_database, require_port
from leaguesite.login.accounts import INSTRUCTOR, FirstRun, ensure_accounts
from leaguesite.observing import logs


class Command(BaseCommand):
    help = "Host leagues: the site, the conductor, referees, and a demo league."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0 for the class")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--public-url", help="the address students use; default: LEAGUE_PUBLIC_URL, else from host and port"
        )
        parser.add_argument("--referees", type=int, default=2, help="referees to run (default 2)")
        parser.add_argument(
            "--referee-port",
            type=int,
            default=8001,
            help="the first referee's port; others take the next free ones",
        )
        # Django's settings need the folder, so it is read before them (leaguesite.environment.export_data_folder).
        parser.add_argument("--data", help="folder for everything the site writes (default: data)")
        parser.add_argument("--config", metavar="FOLDER", help="read system.json, leagues and games from there")
        parser.add_argument(
            "--demo", action="store_true", default=True, help="run a league that plays itself until a real one starts"
        )
        parser.add_argument("--no-demo", action="store_false", dest="demo")
        parser.add_argument("--no-shared", action="store_true", help="write no folder SHARED (docs/shared.md)")

    def handle(self, **options: Any) -> None:
        host, port = options["host"], options["port"]
        require_port(host, port)
        url = public_url(host, port, options["public_url"] or os.environ.get("LEAGUE_PUBLIC_URL"))
        configuration = use(options["config"])
        # The lock is held until the process ends, however it does.
        lock_data_folder(settings.DATA_DIR, f"process {os.getpid()}, port {port}")
        logs.start("web", name="host")
        tracing.start("host")
        migrate_database()
        open_leagues(configuration)
        first = ensure_accounts()
        # Daphne installs its event loop when it is imported, so only the command that serves does.
        from leaguesite.hosting import shared_folder  # noqa: PLC0415
        from leaguesite.hosting.host import Host, Site  # noqa: PLC0415

        self._welcome(url, host, first)
        is_shared = shared_folder.is_wanted() and not options["no_shared"]
        Host(Site(host, port, url, options["referees"], options["referee_port"], options["demo"], is_shared)).run()

    def _welcome(self, url: str, host: str, first: FirstRun) -> None:
        lines = [
            "",
            f"  Board           {url}/",
            f"  Admin           {url}/admin/",
            f"  Agents register {url}/mcp",
            f"  API             {url}/api/docs",
            f"  Data            {settings.DATA_DIR}",
            "",
        ]
        if first.password:
            lines += [f"  Login           {INSTRUCTOR} / {first.password}    (shown this once)"]
        if first.api_key:
            lines += [f"  API key         {first.api_key}    (shown this once)"]
        if first.password or first.api_key:
            lines += [""]
        if host in EVERYWHERE:
            frame = "═" * (len(url) + 38)
            lines += [f"  {frame}", f"     STUDENTS GO TO   {url}/   ", f"  {frame}", ""]
        lines += ["  Ctrl-C stops everything.", ""]
        self.stdout.write("\n".join(lines))
        sys.stdout.flush()
