"""Configures the site's logs: readable lines in the terminal, JSON lines in a file (004 5.10, 10.6)."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpResponseBase

from league_sdk import log_files
from league_sdk.log_files import FOLDER_VARIABLE
from league_sdk.protocol import records
from league_sdk.protocol.envelope import LEAGUE_MANAGER

_REFUSED = (
    *("DisallowedHost", "RequestDataTooBig", "SuspiciousOperation", "TooManyFieldsSent", "TooManyFilesSent"),
    *("DisallowedModelAdminLookup", "DisallowedModelAdminToField", "DisallowedRedirect", "InvalidSessionKey"),
    *("SuspiciousFileOperation", "SuspiciousMultipartForm"),
)
"""Errors with which Django itself refuses a request; each has a logger of its own."""
QUIET_S = 10.0
"""How long a place that has logged that the database is away says nothing more."""
_REQUESTS = "django.request"
"""The logger of requests that were refused in another way, and of those that failed."""


class OneLine(logging.Filter):
    """Logs a caller's mistake as one line: if each had a traceback, anybody could fill the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the traceback out, unless the site itself has failed."""
        if record.name != _REQUESTS or record.levelno < logging.ERROR:
            record.exc_info, record.levelno, record.levelname = None, logging.WARNING, "WARNING"
        return True


class DatabaseAway(logging.Filter):
    """While PostgreSQL is away each place in our code says so once in a while, in one line: every request fails."""

    def __init__(self) -> None:
        super().__init__()
        self._quiet_until: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged. Several handlers ask about the same one."""
        error = record.exc_info[1] if record.exc_info else None
        driver = type(error.__cause__ if error else None).__module__
        if not hasattr(record, "kept") and (driver.startswith("psycopg") or record.name == "psycopg.pool"):
            place, now = (record.name, str(record.msg)), time.monotonic()
            vars(record)["kept"] = kept = now >= self._quiet_until.get(place, 0.0)
            if kept:
                self._quiet_until[place] = now + QUIET_S
            if isinstance(error, OperationalError | InterfaceError):
                record.msg, record.args, record.exc_info = f"{record.getMessage()}: {error}", (), None
        return bool(getattr(record, "kept", True))


database_away = DatabaseAway()


def keep_out_of_the_log(response: HttpResponseBase) -> None:
    """Keep Django from logging a response because of its status, which it does with every one from 400 on."""
    vars(response)["_has_been_logged"] = True


def terminal() -> dict[str, Any]:
    """Django's ``LOGGING``: the terminal, configured by the environment (``league_sdk.log_files.terminal``)."""
    formatter, level = log_files.terminal()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "filters": {"one_line": {"()": OneLine}, "database_away": {"()": lambda: database_away}},
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "level": level,
                "filters": ["database_away"],
            }
        },
        "loggers": {
            name: {"filters": ["one_line"]} for name in (_REQUESTS, *(f"django.security.{name}" for name in _REFUSED))
        },
        "root": {"handlers": ["console"], "level": level},
    }


def start(component: str, *, name: str) -> None:
    """Open the log file of this process; its children write into the same folder.

    Args:
        component: ``web`` or ``conductor``, on every line.
        name: the file's name under ``logs/system``, different for each process of a site: ``host``, ``web-8000``.
    """
    records.identify(component=component, agent_id=LEAGUE_MANAGER)
    folder = Path(os.environ.setdefault(FOLDER_VARIABLE, str(settings.DATA_DIR / "logs")))
    if (file := log_files.open_file(folder / "system" / f"{name}.log.jsonl")) is not None:
        file.addFilter(database_away)
