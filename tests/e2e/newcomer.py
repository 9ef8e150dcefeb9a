"""Does what docs/cli.md tells a newcomer, command by command, in an empty folder.

``python -m tests.e2e.newcomer`` does so with nothing but the wheel of ``league_sdk``, and prints how long it took.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.installed import ENVIRONMENT, build, install
from tests.e2e.site import Site, wait_for
from tests.paths import ROOT

LEAGUE = "newcomers"
OTHER = "Another Agent"


def commands() -> list[list[str]]:
    """The commands of the page's first block."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    block = re.search(r"(?:^    league .*\n)+", page, re.MULTILINE)
    assert block is not None
    return [shlex.split(line) for line in block[0].splitlines()]


class Newcomer:
    """Runs the commands of the page.

    Args:
        folder: an empty folder.
        program: the command line that is run in place of ``league``.
        environment: the environment variables of the commands.
    """

    def __init__(self, folder: Path, program: Sequence[str], environment: dict[str, str]) -> None:
        self.folder = folder
        self._program = list(program)
        self._environment = environment
        self.spent_s = 0.0
        self.playing: list[subprocess.Popen[str]] = []

    def run(self, command: Sequence[str]) -> str:
        """Run a command to its end; returns what it printed."""
        begun = time.monotonic()
        whole, shell = self._of(command), self._environment
        done = subprocess.run(whole, cwd=self.folder, env=shell, capture_output=True, text=True, check=False)
        self.spent_s += time.monotonic() - begun
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command that runs until :meth:`close`."""
        started = subprocess.Popen(
            self._of(command), cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, text=True
        )
        self.playing.append(started)
        return started

    def close(self) -> None:
        """Stop the commands that were started, with SIGTERM; each must end with exit code 0."""
        for one in self.playing:
            one.terminate()
            assert one.wait(timeout=20) == 0
            assert one.stdout is not None
            one.stdout.close()

    def _of(self, command: Sequence[str]) -> list[str]:
        assert command[0] == "league"
        return [*self._program, *command[1:]]


def follow(newcomer: Newcomer, site: Site) -> str:
    """Do what the page says, with a league of ``site`` for the last command; returns what that player printed."""
    new, local, check, play = commands()
    newcomer.run(new)
    assert "could be chance" in newcomer.run(local)
    assert " 0 fail, " in newcomer.run(check)
    site.create(LEAGUE)
    where = ["--league", f"{site.url}/leagues/{LEAGUE}/mcp", "--port", "0"]
    begun = time.monotonic()
    mine = newcomer.start([*play[: play.index("--league")], *where, "--name", "My Agent"])
    newcomer.start(["league", "play", "random", *where, "--name", OTHER, "--data", "others_data"])
    wait_for("both are registered", lambda: len(site.get(f"/leagues/{LEAGUE}/standings")) == 2)
    site.play_to_the_end(LEAGUE)
    assert mine.stdout is not None
    output = ""
    for line in mine.stdout:
        output += line
        if line.startswith("R1M1 against "):
            break
    newcomer.spent_s += time.monotonic() - begun
    return output


def checkout() -> tuple[list[str], dict[str, str]]:
    """The command line of this checkout, and an environment for it."""
    return [sys.executable, "-m", "league_sdk"], os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}


AIM_S = 60
"""The aim for the time from an empty folder to a played match, downloads not counted."""


def main() -> int:
    """Follow the page with an installed wheel; the exit code is 1 if that took longer than the aim."""
    with tempfile.TemporaryDirectory(prefix="newcomer-") as scratch:
        folder = Path(scratch)
        programs = install(build(folder, ROOT / "league_sdk"), folder)
        empty = folder / "empty"
        empty.mkdir()
        newcomer = Newcomer(empty, [f"{programs}/league"], ENVIRONMENT | {"COLUMNS": "100"})
        site = Site(folder / "data", "--no-demo")
        try:
            follow(newcomer, site)
        finally:
            newcomer.close()
            site.close()
    print(f"From an empty folder to a checked agent and a played match: {newcomer.spent_s:.1f} s (aim: {AIM_S} s)")
    return 0 if newcomer.spent_s <= AIM_S else 1


if __name__ == "__main__":
    sys.exit(main())
