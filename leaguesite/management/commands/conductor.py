"""``manage.py conductor``: the conductor as a process of its own."""

from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand, CommandParser

from league_sdk import tracing
from leaguesite.hosting.conductor import conduct
from leaguesite.hosting.configuration import use
from leaguesite.hosting.place import require_redis
from leaguesite.observing import logs


class Command(BaseCommand):
    help = "Run a conductor. Needs Redis. Several may run: one conducts, the next takes over when it ends."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--data", help="folder of the site (default: data)")
        parser.add_argument("--config", metavar="FOLDER", help="read system.json, leagues and games from there")
        parser.add_argument("--port", type=int, default=0, help="answer /health and /metrics there (default: nowhere)")
        parser.add_argument("--host", default="127.0.0.1", help="the address of that port")

    def handle(self, **options: Any) -> None:
        require_redis()
        use(options["config"])
        port = options["port"]
        logs.start("conductor", name=f"conductor-{port}" if port else "conductor")
        tracing.start("conductor")
        conduct(options["host"], port)
