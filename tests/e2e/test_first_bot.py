"""The commands of ``docs/first-bot.md``, with other addresses and ports: each bot registers and passes the check."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from league_sdk.kits import LANGUAGES
from tests.e2e import kits
from tests.e2e.first_bot import BOT, LEAGUE, SITE, commands, program
from tests.e2e.kits import KitPlayer
from tests.e2e.newcomer import checkout
from tests.e2e.site import Site, free_port, wait_for
from tests.mcp_suite.tools import absent

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]
SDKS = "LEAGUE_TEST_MCP_SDKS"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    one = Site(tmp_path_factory.mktemp("first_bot") / "data", "--no-demo", "--referees", "1")
    yield one
    one.close()


def league(folder: Path, *words: str) -> str:
    """Run a command of ``league`` in a folder; returns what it printed."""
    program, environment = checkout()
    done = subprocess.run([*program, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def prepare(language: str, folder: Path) -> None:
    """Prepare what the toolchain needs on a machine without a network; a test that cannot run here is skipped."""
    if language == "typescript":
        version = subprocess.run([kits.need("node"), "--version"], capture_output=True, text=True, check=True).stdout
        if tuple(map(int, version.strip("v\n").split(".")[:2])) < (22, 18):
            pytest.skip(f"Node {version.strip()} does not read TypeScript; tests/e2e/test_kits.py compiles it")
    if language == "rust":
        if not any(kits.CRATES.glob("tiny_http-*")):
            kits.missing(f"The crates are not in {kits.CRATES}")
        (folder / ".cargo").mkdir()
        source = f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{kits.CRATES}"\n'
        (folder / ".cargo" / "config.toml").write_text(source, encoding="utf-8")
        # What `cargo run` builds first may take longer than a test waits for a player.
        kits.run(folder, kits.need("cargo"), "build", "--offline")


@pytest.mark.parametrize("language", kits.LANGUAGES)
def test_the_commands_of_a_language_bring_a_bot_that_passes_the_check(
    site: Site, language: str, tmp_path: Path
) -> None:
    new, (_cd, folder), start = commands(LANGUAGES[language].name)
    kits.need(start[0])
    league(tmp_path, *new[1:])
    prepare(language, tmp_path / folder)
    site.create(f"first_{language}")
    where = f"{site.url}/leagues/first_{language}/mcp"
    words = [where if word == LEAGUE else word for word in start]
    player = KitPlayer.ready(tmp_path / folder, *words, "--port", "0")
    try:
        check, spar = commands("Check it, play it")
        real_address = {BOT: player.endpoint}
        assert " 0 fail, " in league(tmp_path, *[real_address.get(word, word) for word in check[1:]])
        league(tmp_path, *[real_address.get(word, word) for word in spar[1:]])
        agents = site.get(f"/leagues/first_{language}/agents")
        assert [one["display_name"] for one in agents if one["kind"] == "player"] == ["My Agent"]
    finally:
        player.process.terminate()
        player.close()


def test_the_commands_with_the_sdk_bring_a_player(site: Site, tmp_path: Path) -> None:
    new, check, play = commands("Python, with the SDK")
    league(tmp_path, *new[1:])
    assert " 0 fail, " in league(tmp_path, *check[1:])
    site.create("first_sdk")
    words = [f"{site.url}/leagues/first_sdk/mcp" if word == LEAGUE else word for word in play[1:]]
    line, environment = checkout()
    with subprocess.Popen([*line, *words, "--port", "0"], cwd=tmp_path, env=environment) as player:
        try:
            wait_for("it is registered", lambda: len(site.get("/leagues/first_sdk/standings")) == 1)
        finally:
            player.terminate()


def test_the_program_with_an_mcp_sdk_passes_the_check(site: Site, tmp_path: Path) -> None:
    python = Path(os.environ.get(SDKS, "nowhere")) / "python2" / "bin" / "python"
    if not python.exists():
        absent(f"{SDKS} names no folder with the SDKs of MCP")
    port = free_port()
    (tmp_path / "bot.py").write_text(program("An MCP SDK").replace("8101", str(port)), encoding="utf-8")
    run, register = commands("An MCP SDK")
    bot = BOT.replace("8101", str(port))
    with subprocess.Popen([python, *run[1:]], cwd=tmp_path) as playing:
        try:
            wait_for("it listens", lambda: _listens(port))
            command = [word.replace(SITE, site.url).replace(BOT, bot) for word in register]
            answer = subprocess.run([*command, "--silent"], capture_output=True, text=True, check=True).stdout
            assert '"auth_token"' in answer, answer
            assert " 0 fail, " in league(tmp_path, "check", bot)
        finally:
            playing.terminate()


def _listens(port: int) -> bool:
    probe = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1).close()"
    return subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False).returncode == 0
