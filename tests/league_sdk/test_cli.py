"""The command line as a shell sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_a_reader_that_has_ended_gets_no_traceback(tmp_path: Path) -> None:
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
