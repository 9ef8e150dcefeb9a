"""A log file that costs its process nothing but the making of a line: a thread of its own writes, many at once.

A file that cannot be written (a full disk) stops nobody: its lines are counted as lost, and the next ones are tried.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from logging.handlers import RotatingFileHandler
from pathlib import Path

from league_sdk.protocol.records import JsonLines, PlainLine

MAX_BYTES, OLD_FILES = 10 * 1024 * 1024, 4
"""Of one file, and how many full ones are kept beside it: at most 50 MiB for each process."""
GATHER_S = 0.5
"""Lines that come within so long are written together; a killed process loses them."""
FOLDER_VARIABLE = "LEAGUE_LOG_DIR"
"""Tells referees where their files go; the site sets it for its children."""
NO_FILE = "OFF"
MOST_WAITING = 20_000
"""Lines; when the disk takes none, later ones are lost."""

Terminal = tuple[type[logging.Formatter], str]


def terminal() -> Terminal:
    """How records look on standard error, and from which level on.

    Lines for people and WARNING, or with ``LEAGUE_LOG_FORMAT=json`` JSON lines and INFO; ``LEAGUE_LOG_LEVEL`` decides.
    """
    as_json = os.environ.get("LEAGUE_LOG_FORMAT", "").lower() == "json"
    level = os.environ.get("LEAGUE_LOG_LEVEL") or ("INFO" if as_json else "WARNING")
    return (JsonLines if as_json else PlainLine), level.upper()


def open_file(path: Path) -> LogFile | None:
    """Write records into this file, too, from ``LEAGUE_LOG_FILE_LEVEL`` (INFO) on; ``OFF``: none.

    Returns the handler, None where no file is wanted.
    """
    level = os.environ.get("LEAGUE_LOG_FILE_LEVEL", "INFO").upper()
    if level == NO_FILE:
        return None
    file = LogFile(path)
    file.setLevel(level)
    root = logging.getLogger()
    root.addHandler(file)
    root.setLevel(min(root.level, file.level))
    return file


class LogFile(logging.Handler):
    """Appends JSON lines to ``path``, which becomes ``path.1`` when it is full.

    Args:
        path: the file; its folder is made.
        max_bytes: after which a new one is begun.
        old_files: how many full ones are kept.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, old_files: int = OLD_FILES) -> None:
        super().__init__()
        self.path = path
        self.lost = 0
        """Lines that could not be made or written."""
        self._max = max_bytes
        self._file = RotatingFileHandler(
            path, maxBytes=max_bytes, backupCount=old_files, encoding="utf-8", errors="backslashreplace", delay=True
        )
        self._waiting: deque[str] = deque()
        self._writing = threading.Lock()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        self.setFormatter(JsonLines())

    def emit(self, record: logging.LogRecord) -> None:
        """Put a line where the writing thread finds it; never raises."""
        try:
            line = self.format(record)
        except Exception:
            # A log call with arguments that do not fit must not end what it tells of.
            self.lost += 1
            return
        if len(self._waiting) >= MOST_WAITING:
            self.lost += 1
            return
        self._waiting.append(line)
        if not self._news.is_set():
            self._begin()
            self._news.set()

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep_writing, name="log file", daemon=True)
            self._thread.start()

    def _keep_writing(self) -> None:
        while self._news.wait():
            time.sleep(GATHER_S)
            self._news.clear()
            self.flush()

    def flush(self) -> None:
        """Write what waits, from any thread."""
        with self._writing:
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if not lines:
                return
            try:
                self._write("\n".join(lines) + "\n")
            except (OSError, ValueError):
                # ValueError: somebody has closed the stream.
                self.lost += len(lines)
                self._reopen()

    def _write(self, text: str) -> None:
        file = self._file
        if file.stream is not None and file.stream.tell() >= self._max:
            file.doRollover()
        if file.stream is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file.stream = file._open()
        file.stream.write(text)
        file.stream.flush()

    def _reopen(self) -> None:
        """Begin anew with the next lines: a stream that has failed may hold half a line."""
        stream, self._file.stream = self._file.stream, None
        try:
            if stream is not None:
                stream.close()
        except OSError:
            # What it still held is part of what was counted as lost.
            return

    def close(self) -> None:
        """Write what waits and close the file."""
        self.flush()
        with self._writing:
            self._reopen()
        super().close()
