"""Bridges as processes, between agents under test and a site."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.ports import free_port
from tests.e2e.site import Instructor, wait_for
from tests.paths import ROOT

TOKEN_FILE, PYTHON = "kept.json", (sys.executable,)


@contextmanager
def bridge(
    site: Instructor, folder: Path, *options: str, program: Sequence[str] = (*PYTHON, "-m", "league_sdk", "bridge")
) -> Iterator[Path]:
    """Run a bridge while the block lasts; gives the file with what it prints."""
    log = folder / "bridge.log"
    command = [*program, "--league", f"{site.url}/mcp", *options]
    with log.open("w") as out:
        process = subprocess.Popen([*command, "--tokens", str(folder / TOKEN_FILE)], cwd=ROOT, stdout=out, stderr=out)
        try:
            yield log
            assert process.poll() is None, log.read_text()
        finally:
            process.kill()
            process.wait()


def count_relayed(folder: Path) -> int:
    """How many agents the bridges relay for, by the token files below a folder."""
    return sum(len(agents) for file in folder.rglob(TOKEN_FILE) for agents in json.loads(file.read_text()).values())


@contextmanager
def bridged_manager(site: Instructor, folder: Path, *options: str, **how: Any) -> Iterator[tuple[Instructor, Path]]:
    """Run a bridge that agents call in place of the league manager.

    Gives an instructor whose calls go to the bridge, and the file with what it prints.
    """
    port = free_port()
    with bridge(site, folder, "--listen", str(port), *options, **how) as log:
        wait_for("the bridge listens", lambda: "Standing in" in log.read_text())
        yield Instructor(f"http://127.0.0.1:{port}"), log
