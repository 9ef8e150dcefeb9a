"""A command of PostgreSQL that fails raises an error; only a PostgreSQL that is not installed skips tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.chaos.servers import Postgres


def test_a_command_of_postgresql_that_fails_is_an_error_and_skips_no_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    # Root would run the commands as another user: runuser -u postgres -- PROGRAM.
    scripts = {"runuser": 'shift 3; exec "$@"', "initdb": "exit 0", "pg_ctl": "echo no room >&2; exit 1"}
    for program, script in scripts.items():
        (tmp_path / program).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / program).chmod(0o700)
    with pytest.raises(RuntimeError, match="pg_ctl start: no room"):
        Postgres(tmp_path)
