"""The starter kit in every language: its build, the programs that it needs, and its player as a process."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.e2e.site import wait_for
from tests.paths import ROOT

Command = tuple[str, ...]
CRATES = Path("/usr/share/cargo/registry")
"""The folder of Debian's packages of crates."""
UNREACHABLE = ("--port", "0", "--endpoint", "http://192.0.2.1:8101/mcp", "--call-wait", "0.1")
"""The options of a player that registers an address at which the league cannot call it."""


def missing(what: str) -> NoReturn:
    """Skip the test; in CI, where everything has to be there, fail it."""
    (pytest.fail if os.environ.get("LEAGUE_CI") else pytest.skip)(what)


def need(program: str) -> str:
    """The path of a program; if it is not installed the test is skipped, and in CI it fails."""
    return shutil.which(program) or missing(f"{program} is not installed on this machine")


def run(folder: Path, *command: str) -> None:
    """Run a step of a build; its output is in the error if it fails."""
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def python(_folder: Path) -> Command:
    return (sys.executable, "player.py")


def javascript(_folder: Path) -> Command:
    return (need("node"), "player.mjs")


def typescript(folder: Path) -> Command:
    """Have tsc check and compile the player; a Node that reads TypeScript runs the source, others what tsc made."""
    tools = os.environ.get("LEAGUE_TEST_TYPESCRIPT")
    if not tools:
        missing("LEAGUE_TEST_TYPESCRIPT names no folder with typescript and @types/node, as of npm install")
    (folder / "node_modules").symlink_to(Path(str(tools)) / "node_modules")
    run(folder, need("node"), "node_modules/typescript/bin/tsc")
    version = subprocess.run([need("node"), "--version"], capture_output=True, text=True, check=True).stdout
    reads_types = tuple(map(int, version.strip("v\n").split(".")[:2])) >= (22, 18)
    return (need("node"), "player.ts" if reads_types else "player.js")


def java(_folder: Path) -> Command:
    return (need("java"), "Player.java")


def go(folder: Path) -> Command:
    run(folder, need("go"), "vet", ".")
    run(folder, need("go"), "build", "-o", "player", ".")
    return (str(folder / "player"),)


def rust(folder: Path) -> Command:
    """Build the player from the crates that Debian has as packages, so that no registry is asked."""
    if not any(CRATES.glob("tiny_http-*")):
        missing(f"The crates are not in {CRATES}: install librust-{{serde-json,sha2,tiny-http,ureq}}-dev")
    source = ('source.crates-io.replace-with="debian"', f'source.debian.directory="{CRATES}"')
    run(folder, need("cargo"), "build", "--offline", *(word for one in source for word in ("--config", one)))
    return (str(folder / "target" / "debug" / "player"),)


LANGUAGES: dict[str, Callable[[Path], Command]] = {
    "python": python,
    "javascript": javascript,
    "typescript": typescript,
    "java": java,
    "go": go,
    "rust": rust,
}
"""For each language a function that builds the kit in a folder and returns the command that starts its player."""


@functools.cache
def built(language: str) -> tuple[Path, Command]:
    """A folder of this process's own with a kit that is built, and the command that starts its player there."""
    folder = Path(tempfile.mkdtemp(prefix=f"league-kit-{language}-")) / language
    shutil.copytree(ROOT / "examples" / "kit" / language, folder)
    return folder, LANGUAGES[language](folder)


class KitPlayer:
    """A player of the kit as a process, see :meth:`ready`.

    Attributes:
        player_id: the id that it was given, once it is ready.
    """

    player_id = ""

    def __init__(self, folder: Path, *command: str) -> None:
        with tempfile.NamedTemporaryFile("w", prefix="kit-printed-", delete=False) as out:
            self._printed = Path(out.name)
            # In a session of its own, so that what a command such as ``go run`` starts can be killed with it.
            self.process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, start_new_session=True)

    @classmethod
    def ready(cls, folder: Path, *command: str) -> KitPlayer:
        """Start a player, and wait until it is registered."""
        player = cls(folder, *command)
        try:
            player.player_id = player.wait_for_line("READY").split()[2]
        except BaseException:
            player.close()
            raise
        return player

    @property
    def endpoint(self) -> str:
        """The address that the player has printed."""
        return self.wait_for_line("READY").split()[1]

    @property
    def token(self) -> str:
        """The auth_token that the player has printed."""
        return self.wait_for_line("READY").split()[4]

    def printed(self) -> str:
        """What the player has printed so far."""
        return self._printed.read_text()

    def wait_for_line(self, text: str) -> str:
        """Wait until the player has printed a line that contains a text; returns the line."""

        def matching_line() -> str:
            return next((line for line in self.printed().splitlines() if text in line), "")

        try:
            return wait_for(f"{text!r} of a kit", matching_line)
        except AssertionError as error:
            raise AssertionError(f"{error}\nprinted: {self.printed()[-2000:]}") from None

    def close(self) -> None:
        """Kill the process, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._printed.unlink(missing_ok=True)


def start(language: str, *options: str) -> KitPlayer:
    """Start a player in a language, and wait until it is registered."""
    folder, command = built(language)
    return KitPlayer.ready(folder, *command, *options)


def write_league_json(language: str, league: str, game_type: str) -> Path:
    """Put a ``league.json``, as the join page gives it, beside a kit; returns its path."""
    file = built(language)[0] / "league.json"
    content = {"league": league, "league_id": "kits", "game_types": [game_type], "registration_code": ""}
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def check(endpoint: str) -> dict[str, Any]:
    """The report of ``league check URL``; it has to end with 0."""
    command = [sys.executable, "-m", "league_sdk", "check", endpoint, "--json"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return dict(json.loads(done.stdout))
