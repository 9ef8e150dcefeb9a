"""The command line, run as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_command_ends_without_a_traceback_when_its_reader_has_ended(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    (tmp_path / "nothing.json").write_text("{}")
    command = [sys.executable, "-m", "league_sdk", "verify", str(tmp_path / "nothing.json")]
    try:
        ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    finally:
        os.close(writer)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 141
