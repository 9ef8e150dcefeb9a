"""Installs the wheels of this tree in an environment that cannot see the checkout, and runs programs there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.paths import ROOT

# The programs must not find what is installed for the tests, so their environment is nearly empty.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | {
    name: value for name, value in os.environ.items() if name.startswith("PIP_")
}


def run(*command: str | Path, folder: Path) -> str:
    """Run a command to its end; returns what it printed."""
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def build(folder: Path, *sources: Path) -> list[Path]:
    """Build wheels into a folder."""
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, *sources, folder=folder)
    return sorted(folder.glob("*.whl"))


def install(wheels: list[Path], folder: Path) -> Path:
    """Install wheels into a new environment, with the locked versions of what they need;
    returns the folder of its programs."""
    run(sys.executable, "-m", "venv", "venv", folder=folder)
    (folder / "pins.txt").write_text(pins(), encoding="utf-8")
    programs = folder / "venv" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", "-c", "pins.txt", *wheels, folder=folder)
    return programs


def pins() -> str:
    """The locked versions of what the site needs to run, without hashes: wheels that were just built have none."""
    lines = (ROOT / "requirements" / "base.txt").read_text(encoding="utf-8").splitlines()
    return "\n".join(line.removesuffix(" \\") for line in lines if "==" in line and not line.startswith((" ", "#")))
