"""Clients made by others, at a real site: SDKs of MCP and the Inspector list, read, register and play."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bots.sdk import installing
from tests.e2e.inspector import Inspector
from tests.e2e.site import PATIENCE_S, Site, wait_for
from tests.mcp_suite.tools import absent, modules
from tests.paths import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(240)]
PROGRAMS = ROOT / "tests/bots/sdk/clients"
STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"
CAST = {
    "Python2Auto": ("python2.py", "auto", STATELESS),
    "Python2Pinned": ("python2.py", STATELESS, STATELESS),
    "Python2Legacy": ("python2.py", "legacy", HANDSHAKE),
    "Python1": ("python1.py", "", HANDSHAKE),
    "FastMcp4": ("fastmcp4.py", "", STATELESS),
    "TypeScript1": ("typescript1.mjs", "", HANDSHAKE),
    "TypeScript2": ("typescript2.mjs", "", STATELESS),
}
"""By the player's name, whose number is the version of the SDK: its program, the mode given to the program, and the
protocol version that must be agreed on."""
ERAS = ("legacy", "modern")
PROMPTS = ["how_to_play", "write_an_agent", "explain_a_match", "what_is_wrong_with_my_agent"]
MESSAGES_OF_A_MATCH = ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]


@pytest.fixture(scope="module")
def sdks() -> Path:
    """The folder with the SDKs."""
    folder = Path(os.environ.get(installing.FOLDER, "/nowhere"))
    if not installing.is_installed(folder):
        absent(f"the SDKs of MCP are not installed ({installing.FOLDER} names their folder; see CONTRIBUTING.md)")
    if shutil.which("node") is None:
        absent("Node is not installed, which runs the clients in TypeScript")
    return folder


@pytest.fixture(scope="module")
def tools() -> Path:
    """The folder with the Inspector."""
    return modules("inspector")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One site for all clients."""
    site = Site(tmp_path_factory.mktemp("site") / "data", "--no-demo")
    try:
        yield site
        assert site.stop() == 0
    finally:
        site.close()


class Client:
    """One program: what it printed, line by line, and how it ended."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self._process, self._output = process, output

    def seen(self) -> dict[str, Any]:
        """What the program has shown so far; if it has failed, the test fails with its output."""
        output = self._output.read_text("utf-8")
        assert self._process.poll() in (None, 0), output
        shown: dict[str, Any] = {}
        for line in output.splitlines():
            shown |= json.loads(line) if line.startswith("{") else {}
        return shown

    def to_the_end(self) -> dict[str, Any]:
        """Wait until the program has ended; returns all that it has shown."""
        self._process.wait(timeout=PATIENCE_S)
        return self.seen()


@contextmanager
def client(sdks: Path, name: str, site: Site, league: str, folder: Path) -> Iterator[Client]:
    """A client as a process of its own."""
    program, mode, _version = CAST[name]
    stem, output = Path(program).stem, folder / f"{name}.out"
    command = sdks / stem / "bin" / "python" if stem in installing.PYTHONS else shutil.which("node") or "node"
    own = {"LEAGUE": f"{site.url}/mcp", "LEAGUE_ID": league, "NAME": name, "MODE": mode}
    with output.open("w") as out:
        process = subprocess.Popen(
            [command, folder / program], env=os.environ | own, stdout=out, stderr=subprocess.STDOUT, text=True
        )
        try:
            yield Client(process, output)
        finally:
            process.kill()
            process.wait()


def assert_played(site: Site, league: str) -> None:
    """Check that every match was decided by its game, in its first attempt, and without a fault."""
    matches = [
        site.get(f"/leagues/{league}/matches/{one['match_id']}") for one in site.get(f"/leagues/{league}/matches")
    ]
    assert matches
    assert [fault for match in matches for fault in match["result"]["faults"]] == []
    assert {(match["attempt"], match["status"] in ("WIN", "DRAW")) for match in matches} == {(1, True)}


def test_clients_of_every_sdk_list_read_subscribe_register_and_play(sdks: Path, site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "clients"
    shutil.copytree(PROGRAMS, folder)
    (folder / "node_modules").symlink_to(sdks / "node_modules")
    site.create("sdk-clients", retry_base_s=0.25)
    with ExitStack() as stack:
        clients = {name: stack.enter_context(client(sdks, name, site, "sdk-clients", folder)) for name in CAST}
        for name, one in clients.items():
            wait_for(f"{name} has registered", lambda one=one: "registered" in one.seen())
        site.play_to_the_end("sdk-clients")
        shown = {name: one.to_the_end() for name, one in clients.items()}

    assert_played(site, "sdk-clients")
    table = site.get("/leagues/sdk-clients/standings")
    for name, (_program, _mode, version) in CAST.items():
        seen = shown[name]
        assert seen["version"] == version, name
        assert {"register_player", "next_message", "submit_response", "play", "get_standings"} <= set(seen["tools"])
        assert seen["resources"] == ["league://standings"], name
        assert "league://{id}/standings" in seen["templates"], name
        assert seen["prompts"] == PROMPTS, name
        assert "how I take part" in seen["prompt"], name
        assert all(row["played"] == 0 for row in seen["before"]["standings"]), name
        assert [kind for kind in seen["received"] if kind in MESSAGES_OF_A_MATCH] == MESSAGES_OF_A_MATCH * (
            len(CAST) - 1
        ), name
        assert (seen["received"][-1], seen["change"]) == ("LEAGUE_COMPLETED", "league://sdk-clients/standings"), name
        assert seen["after"]["standings"] == table, name


def test_the_inspector_lists_reads_registers_and_plays_in_both_eras(tools: Path, site: Site, tmp_path: Path) -> None:
    # Each call of the Inspector is a process, which takes a while to start.
    site.create("inspector", join_timeout_s=20)
    inspectors = [Inspector(tools, f"{site.url}/mcp", era, tmp_path) for era in ERAS]
    for one in inspectors:
        assert {"register_player", "next_message", "play"} <= {tool["name"] for tool in one.ask("tools/list")["tools"]}
        assert [found["uri"] for found in one.ask("resources/list")["resources"]] == ["league://standings"]
        templates = one.ask("resources/templates/list")["resourceTemplates"]
        assert "league://{id}/standings" in {found["uriTemplate"] for found in templates}
        assert [found["name"] for found in one.ask("prompts/list")["prompts"]] == PROMPTS
        prompt = one.ask("prompts/get", "--prompt-name", "how_to_play")["messages"]
        assert "how I take part" in prompt[0]["content"]["text"]
        read = one.ask("resources/read", "--uri", "league://inspector/standings")["contents"]
        assert json.loads(read[0]["text"])["league_id"] == "inspector"
        one.register("inspector")
    with ThreadPoolExecutor(len(inspectors)) as pool:
        games = [pool.submit(one.play) for one in inspectors]
        site.play_to_the_end("inspector")
        kinds_of_games = [game.result(timeout=PATIENCE_S) for game in games]
    assert [[kind for kind in kinds if kind in MESSAGES_OF_A_MATCH] for kinds in kinds_of_games] == [
        MESSAGES_OF_A_MATCH
    ] * len(ERAS)
    assert_played(site, "inspector")
