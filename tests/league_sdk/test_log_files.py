"""The log file: order of lines, rotation, and a full disk."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from league_sdk import log_files
from league_sdk.log_files import LogFile
from league_sdk.protocol.records import JsonLines, PlainLine


class NotifyingFile(LogFile):
    """Says when it was flushed with lines that waited."""

    def __init__(self, *arguments: Any, **how: Any) -> None:
        self.written = threading.Event()
        super().__init__(*arguments, **how)

    def flush(self) -> None:
        had_lines = bool(self._waiting)
        super().flush()
        if had_lines:
            self.written.set()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[NotifyingFile]:
    made = NotifyingFile(tmp_path / "logs" / "system" / "web.log.jsonl", max_bytes=2000, old_files=2)
    yield made
    made.close()


@pytest.fixture
def logger(file: LogFile) -> Iterator[logging.Logger]:
    made = logging.getLogger("tests.log_files")
    made.addHandler(file)
    made.setLevel("INFO")
    made.propagate = False
    yield made
    made.removeHandler(file)


def messages(path: Path) -> list[str]:
    return [json.loads(line)["message"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_log_file_keeps_the_order_of_lines(file: LogFile, logger: logging.Logger) -> None:
    for number in range(5):
        logger.info("line %d", number)
    file.flush()
    assert messages(file.path) == [f"line {number}" for number in range(5)]


def test_a_daemon_thread_writes_the_lines(file: NotifyingFile, logger: logging.Logger) -> None:
    logger.info("by itself")
    thread = file._thread
    assert thread is not None and thread.daemon
    assert file.written.wait(30)
    assert messages(file.path) == ["by itself"]


def test_closing_a_log_file_writes_the_lines_that_wait(file: LogFile, logger: logging.Logger) -> None:
    logger.info("the last one")
    file.close()
    assert messages(file.path) == ["the last one"]


def test_full_files_are_renamed_and_the_oldest_is_deleted(file: LogFile, logger: logging.Logger) -> None:
    for number in range(60):
        logger.info("line %d", number)
        file.flush()
    names = sorted(path.name for path in file.path.parent.iterdir())
    assert names == ["web.log.jsonl", "web.log.jsonl.1", "web.log.jsonl.2"]
    lines = [line for name in reversed(names) for line in messages(file.path.parent / name)]
    assert lines == [f"line {number}" for number in range(60 - len(lines), 60)]
    assert all(path.stat().st_size < 2000 + 400 for path in file.path.parent.iterdir())


class FullDisk(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_loses_lines_without_an_exception(file: LogFile, logger: logging.Logger) -> None:
    file._file.stream = FullDisk()
    logger.info("lost")
    logger.info("lost too")
    file.flush()
    assert file.lost == 2
    logger.info("there is room again")
    file.flush()
    assert (messages(file.path), file.lost) == (["there is room again"], 2)


def test_half_a_line_is_ended_before_the_next(file: LogFile, logger: logging.Logger) -> None:
    file.path.parent.mkdir(parents=True)
    file.path.write_text('{"half a li')
    logger.info("whole")
    file.flush()
    logger.info("whole, too")
    file.flush()
    half, *rest = file.path.read_text().splitlines()
    assert (half, [json.loads(line)["message"] for line in rest]) == ('{"half a li', ["whole", "whole, too"])


def test_a_folder_that_cannot_be_created_raises_no_exception(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    file = LogFile(tmp_path / "logs" / "web.log.jsonl")
    file.handle(logging.LogRecord("x", logging.INFO, __file__, 1, "hello", (), None))
    file.close()
    assert file.lost == 1


def test_a_record_that_cannot_be_formatted_is_counted_as_lost(file: LogFile) -> None:
    file.handle(logging.LogRecord("x", logging.INFO, __file__, 1, "%d of %d", ("one",), None))
    assert file.lost == 1


def test_a_log_file_loses_lines_when_too_many_wait(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "web.log.jsonl", max_waiting=3)
    with file._writing:
        for number in range(5):
            file.handle(logging.LogRecord("x", logging.INFO, __file__, 1, "line %d", (number,), None))
    file.close()
    assert (messages(file.path), file.lost) == ([f"line {number}" for number in range(3)], 2)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (PlainLine, "WARNING")),
        ({"LEAGUE_LOG_FORMAT": "json"}, (JsonLines, "INFO")),
        ({"LEAGUE_LOG_FORMAT": "JSON", "LEAGUE_LOG_LEVEL": "error"}, (JsonLines, "ERROR")),
        ({"LEAGUE_LOG_LEVEL": "DEBUG"}, (PlainLine, "DEBUG")),
    ],
)
def test_the_environment_sets_the_format_and_level_of_the_terminal(
    environment: dict[str, str], expected: log_files.Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LEAGUE_LOG_FORMAT", "LEAGUE_LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert log_files.terminal() == expected


def test_no_log_file_is_opened_when_the_level_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_LOG_FILE_LEVEL", "off")
    before = list(logging.getLogger().handlers)
    assert log_files.open_file(tmp_path / "web.log.jsonl") is None
    assert logging.getLogger().handlers == before
