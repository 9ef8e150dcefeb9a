"""Install the SDKs of MCP for the players and the clients here: ``python -m tests.bots.sdk.installing FOLDER``.

Each SDK for Python gets an environment of its own in the folder, those for Node share ``node_modules``. What is
installed already, in the right version, is left alone.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = "LEAGUE_TEST_MCP_SDKS"
"""The environment variable that names the folder."""
PYTHONS = {"python1": "mcp==1.30.0", "python2": "mcp==2.3.0", "fastmcp4": "fastmcp==4.2.3"}
NODE = (
    *("@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/server@2.4.0", "@modelcontextprotocol/node@2.1.2"),
    *("@modelcontextprotocol/client@2.4.0", "zod@4.6.7"),
)


_WANTED = PYTHONS | {"node_modules": " ".join(NODE)}


def is_installed(folder: Path) -> bool:
    """Whether all SDKs are installed there, in these versions."""
    return not _missing(folder)


def _missing(folder: Path) -> list[str]:
    """The parts whose file ``installed``, which is written last, is missing or names other versions."""
    marks = {name: folder / name / "installed" for name in _WANTED}
    return [name for name, mark in marks.items() if not mark.exists() or mark.read_text("utf-8") != _WANTED[name]]


def _python(folder: Path, name: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
    pip = [folder / name / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, PYTHONS[name]], check=True)


def _node(folder: Path, _name: str) -> None:
    quietly = ["--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--loglevel=error"]
    subprocess.run(["npm", "install", *quietly, *NODE], cwd=folder, check=True)


def install(folder: Path) -> None:
    """Install what is missing, all at once.

    Raises:
        subprocess.CalledProcessError: a part could not be installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    installers = dict.fromkeys(PYTHONS, _python) | {"node_modules": _node}

    def one(name: str) -> None:
        installers[name](folder, name)
        (folder / name / "installed").write_text(_WANTED[name], "utf-8")

    with ThreadPoolExecutor() as pool:
        list(pool.map(one, _missing(folder)))


if __name__ == "__main__":
    install(Path(sys.argv[1]).resolve())
