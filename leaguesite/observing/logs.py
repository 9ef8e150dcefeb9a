"""Configures the site's logs: readable lines in the terminal, JSON lines in a file (004 5.10, 10.6)."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpResponseBase

from league_sdk import log_files
from league_sdk.log_files import FOLDER_VARIABLE
from league_sdk.protocol import records
from league_sdk.protocol.envelope import LEAGUE_MANAGER

_REFUSED = ("DisallowedHost", "RequestDataTooBig", "SuspiciousOperation", "TooManyFieldsSent", "TooManyFilesSent")
"""Errors with which Django itself refuses a request; each has a logger of its own."""


class OneLine(logging.Filter):
    """Logs a caller's mistake as one line: if each had a traceback, anybody could fill the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the traceback out."""
        record.exc_info, record.levelno, record.levelname = None, logging.WARNING, "WARNING"
        return True


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
        "filters": {"one_line": {"()": OneLine}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "level": level}},
        "loggers": {
            **{f"django.security.{name}": {"filters": ["one_line"]} for name in _REFUSED},
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
    log_files.open_file(folder / "system" / f"{name}.log.jsonl")
