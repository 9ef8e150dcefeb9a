"""``manage.py web``: one web process of several, behind a proxy."""

from __future__ import annotations

import os
from typing import Any

from django.core.management import BaseCommand, CommandParser

from league_sdk import tracing
from leaguesite.hosting.addresses import public_url
from leaguesite.hosting.configuration import use
from leaguesite.hosting.place import require_port, require_redis
from leaguesite.observing import logs


class Command(BaseCommand):
    help = "Run one web process: pages, sockets, API and agents' calls. Needs Redis; `host` is the site in one process."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--public-url", help="the address students use, the proxy's; default: LEAGUE_PUBLIC_URL, else host and port"
        )
        parser.add_argument("--data", help="folder of the site (default: data)")
        parser.add_argument("--config", metavar="FOLDER", help="read system.json, leagues and games from there")

    def handle(self, **options: Any) -> None:
        host, port = options["host"], options["port"]
        require_redis()
        require_port(host, port)
        # Daphne installs its event loop when it is imported, so only the command that serves does.
        from leaguesite.hosting.web import Web  # noqa: PLC0415

        logs.start("web", name=f"web-{port}")
        tracing.start("web")
        url = public_url(host, port, options["public_url"] or os.environ.get("LEAGUE_PUBLIC_URL"))
        use(options["config"])
        Web(host=host, port=port, public_url=url).run()
