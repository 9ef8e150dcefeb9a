"""A log file whose lines are written in batches by a thread of its own, so that logging never waits for the disk.

If the file cannot be written (a full disk), the lines are counted as lost, and the next lines are tried again.
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

MAX_FILE_BYTES, OLD_FILES = 10 * 1024 * 1024, 4
"""The size of a file, and the number of full files that are kept: about 50 MiB for each process, as a batch of lines is
never divided."""
WRITE_INTERVAL_S = 0.5
"""Lines logged within this time are written together; a process that is killed loses them."""
FOLDER_VARIABLE = "LEAGUE_LOG_DIR"
"""The environment variable with the folder for the log files of referees; the site sets it for its children."""
LEVEL_VARIABLE = "LEAGUE_LOG_FILE_LEVEL"
NO_FILE = "OFF"
MAX_WAITING_LINES = 20_000
"""The longest queue of lines that wait to be written; more lines are lost."""

Terminal = tuple[type[logging.Formatter], str]


def terminal() -> Terminal:
    """The format and the minimum level of records on standard error.

    By default these are lines for people and WARNING; with ``LEAGUE_LOG_FORMAT=json``, JSON lines and INFO.
    ``LEAGUE_LOG_LEVEL`` overrides the level.
    """
    as_json = os.environ.get("LEAGUE_LOG_FORMAT", "").lower() == "json"
    level = os.environ.get("LEAGUE_LOG_LEVEL") or ("INFO" if as_json else "WARNING")
    return (JsonLines if as_json else PlainLine), level.upper()


def missing_line_break(path: Path) -> str:
    """A line break, if the file ends within a line, as after a kill or on a full disk; else nothing."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return ""
            file.seek(-1, os.SEEK_END)
            return "" if file.read() == b"\n" else "\n"
    except FileNotFoundError:
        return ""


def open_file(path: Path) -> LogFile | None:
    """Also write all records from level :data:`LEVEL_VARIABLE` (default INFO) on into a file.

    Returns the handler; None if the level is ``OFF``.
    """
    level = os.environ.get(LEVEL_VARIABLE, "INFO").upper()
    if level == NO_FILE:
        return None
    file = LogFile(path)
    file.setLevel(level)
    root = logging.getLogger()
    root.addHandler(file)
    root.setLevel(min(root.level, file.level))
    return file


class LogFile(logging.Handler):
    """Appends JSON lines to ``path``; a full file is renamed to ``path.1``.

    Args:
        path: the file; its folder is created.
        max_bytes: the size after which a new file is started.
        old_files: the number of full files that are kept.
        max_waiting: the longest queue of lines that wait to be written.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = MAX_FILE_BYTES,
        old_files: int = OLD_FILES,
        max_waiting: int = MAX_WAITING_LINES,
    ) -> None:
        super().__init__()
        self.path = path
        self.lost = 0
        """The number of lines that could not be formatted or written."""
        self._max_bytes = max_bytes
        self._max_waiting = max_waiting
        self._file = RotatingFileHandler(
            path, maxBytes=max_bytes, backupCount=old_files, encoding="utf-8", errors="backslashreplace", delay=True
        )
        self._waiting: deque[str] = deque()
        self._writing = threading.Lock()
        self._has_lines = threading.Event()
        self._thread: threading.Thread | None = None
        self.setFormatter(JsonLines())

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line for the writing thread; never raises."""
        try:
            line = self.format(record)
        except Exception:
            # A log call with wrong arguments must not end the work that it logs.
            self.lost += 1
            return
        self.add(line)

    def add(self, line: str) -> None:
        """Queue a line, without its line break, for the writing thread; never raises."""
        if len(self._waiting) >= self._max_waiting:
            self.lost += 1
            return
        self._waiting.append(line)
        if not self._has_lines.is_set():
            self._start_thread()
            self._has_lines.set()

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep_writing, name="log file", daemon=True)
            self._thread.start()

    def _keep_writing(self) -> None:
        while self._has_lines.wait():
            time.sleep(WRITE_INTERVAL_S)
            self._has_lines.clear()
            self.flush()

    def flush(self) -> None:
        """Write all queued lines; may be called from any thread."""
        with self._writing:
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if not lines:
                return
            try:
                self._write("\n".join(lines) + "\n")
            except (OSError, ValueError):
                # ValueError means that the stream was closed.
                self.lost += len(lines)
                self._reopen()

    def _write(self, text: str) -> None:
        file = self._file
        if file.stream is not None and file.stream.tell() >= self._max_bytes:
            file.doRollover()
        if file.stream is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = missing_line_break(self.path) + text
            file.stream = file._open()
        file.stream.write(text)
        file.stream.flush()

    def _reopen(self) -> None:
        """Close the stream, so that the next lines open a new one; a failed stream may contain half a line."""
        stream, self._file.stream = self._file.stream, None
        try:
            if stream is not None:
                stream.close()
        except OSError:
            # The lines still in its buffer have been counted as lost.
            return

    def close(self) -> None:
        """Write all queued lines and close the file."""
        self.flush()
        with self._writing:
            self._reopen()
        super().close()
