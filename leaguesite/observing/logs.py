"""Where the site's log records go: readable lines in the terminal, JSON lines in a file (004 5.10, 10.6)."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from django.conf import settings

from league_sdk import log_files
from league_sdk.log_files import FOLDER_VARIABLE, LogFile
from league_sdk.protocol import records
from league_sdk.protocol.envelope import LEAGUE_MANAGER

_files: list[LogFile] = []
_REFUSED = ("DisallowedHost", "RequestDataTooBig", "SuspiciousOperation", "TooManyFieldsSent", "TooManyFilesSent")
"""What Django refuses itself; each has a logger of its own."""


class OneLine(logging.Filter):
    """What a caller did wrong is a line; with its traceback anybody could fill the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the traceback out."""
        record.exc_info, record.levelno, record.levelname = None, logging.WARNING, "WARNING"
        return True


def terminal() -> dict[str, Any]:
    """Django's ``LOGGING``: the terminal, as the environment says (:func:`league_sdk.log_files.terminal`)."""
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


def start(component: str, *, name: str) -> LogFile | None:
    """Begin the log file of this process, and have its children write beside it.

    Args:
        component: ``web`` or ``conductor``, on every line.
        name: of the file under ``logs/system``, different for each process on a data folder: ``host``, ``web-8000``.

    Returns the handler; None where no file is wanted.
    """
    records.identify(component=component, agent_id=LEAGUE_MANAGER)
    folder = Path(os.environ.setdefault(FOLDER_VARIABLE, str(settings.DATA_DIR / "logs")))
    file = log_files.open_file(folder / "system" / f"{name}.log.jsonl")
    if file is not None:
        _files.append(file)
    return file


def lost() -> int:
    """How many lines of this process could not be written."""
    return sum(file.lost for file in _files)
