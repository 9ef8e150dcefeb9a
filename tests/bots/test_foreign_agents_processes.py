"""The line for a foreign agent that is a program of its own (``foreign_agents/processes.py``)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bots.foreign_agents.processes import _OwnProcess


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        ("READY P01", "READY Printing P01"),
        ("no league there", "UNREGISTERED Printing no league there"),
        ("READY", "UNREGISTERED Printing READY"),
        ("", "UNREGISTERED Printing "),
    ],
)
async def test_a_program_is_registered_only_if_its_first_line_says_ready(
    printed: str, line: str, tmp_path: Path
) -> None:
    class Printing(_OwnProcess):
        program = (sys.executable, "-c", f"print({printed!r})")

    one = Printing("http://127.0.0.1:9/mcp", tmp_path / "log.jsonl")
    try:
        assert await one.start() == line
    finally:
        await one.stop()
