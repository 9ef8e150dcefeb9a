"""Players that are MCP servers, made with five SDKs: they play without a fault and receive every message.

They are called through a recording proxy, beside plain players of 004 chapter 8, in one league.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.bots.sdk.installing import FOLDER, PYTHONS, is_installed
from tests.e2e.ports import free_port
from tests.e2e.recording import Recorded, recording
from tests.e2e.site import Player, Site, wait_for
from tests.mcp_suite.tools import absent
from tests.paths import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(240)]
PLAYERS = ROOT / "tests/bots/sdk"
CAST = {
    "Python2": "python2.py",
    "Python1": "python1.py",
    "FastMcp4": "fastmcp4.py",
    "TypeScript1": "typescript1.mjs",
    "TypeScript2": "typescript2.mjs",
    "StatelessOnly": "stateless_only.mjs",
}
"""Each player's program. A number is the version of the SDK; ``StatelessOnly`` uses the same SDK as ``TypeScript2``."""
NEED_SESSIONS = {"Python1", "TypeScript1"}
OFFER_SESSIONS = NEED_SESSIONS | {"Python2", "FastMcp4"}
"""The players that open a session on ``initialize``; for those not in ``NEED_SESSIONS`` the league needs none."""
PLAIN = 2
ROUNDS = len(CAST) + PLAIN - 1
RECEIVED = {
    "FastMcp4": (
        *("receive_invitation", "pick_parity", "game_over"),
        *("new_round", "standings_table", "end_of_round", "league_completed"),
    ),
    "TypeScript1": (
        *("handleGameInvitation", "chooseParity", "notifyMatchResult"),
        *("notifyRound", "updateStandings", "notifyRoundCompleted", "notifyLeagueCompleted"),
    ),
}
CANONICAL = (
    *("handle_game_invitation", "choose_parity", "notify_match_result"),
    *("notify_round", "update_standings", "notify_round_completed", "notify_league_completed"),
)
"""The tools of a player in this order: three of a match, three of a round's broadcasts, the end of the league."""


@dataclass
class Student:
    """One player: what it was sent, and what its tools received."""

    name: str
    folder: Path
    endpoint: str = ""
    requests: list[Recorded] = field(default_factory=list)

    def received(self) -> list[dict[str, Any]]:
        """Every call of its tools, with the arguments."""
        path = self.folder / f"{self.name}.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def output(self) -> str:
        """The output of the player's program."""
        return (self.folder / f"{self.name}.out").read_text("utf-8")


@contextmanager
def student(sdks: Path, name: str, site: Site, league: str, folder: Path) -> Iterator[Student]:
    """A player as a process of its own, registered with the address of a proxy in front of it."""
    one, port = Student(name, folder), free_port()
    program = folder / CAST[name]
    command = [sdks / program.stem / "bin" / "python"] if program.stem in PYTHONS else [shutil.which("node") or "node"]
    with recording(port, one.requests) as one.endpoint, (folder / f"{name}.out").open("w") as out:
        own = {"PORT": str(port), "ENDPOINT": one.endpoint, "LEAGUE": f"{site.url}/mcp", "LEAGUE_ID": league}
        own["CALLS_FILE"] = str(folder / f"{name}.jsonl")
        process = subprocess.Popen([*command, program], env=os.environ | own, stdout=out, stderr=out)
        try:
            yield one
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def sdks() -> Path:
    """The folder with the SDKs."""
    folder = Path(os.environ.get(FOLDER, "/nowhere"))
    if not is_installed(folder):
        absent(f"the SDKs of MCP are not installed ({FOLDER} names their folder; see CONTRIBUTING.md)")
    if shutil.which("node") is None:
        absent("Node is not installed, which runs the players in TypeScript")
    return folder


def check(site: Site, one: Student) -> None:
    """Have a student's player checked: its SDK must cause no failing clause. Forgets what the check sent."""
    check_id = site.post("/checks", {"endpoint": one.endpoint}, status=201)["check_id"]
    wait_for(f"{one.name} is checked", lambda: site.get(f"/checks/{check_id}")["state"] == "DONE")
    report = site.get(f"/checks/{check_id}")["report"]
    clauses = {clause["id"]: (clause["verdict"], clause["why"]) for clause in report["clauses"]}
    of_mcp = {name: clause for name, clause in clauses.items() if name.startswith("mcp.")}
    expected = {"mcp.version", "mcp.greeting", "mcp.list", "mcp.tools", "mcp.arguments", "mcp.results"}
    expected |= {"mcp.session", "mcp.session_end"} if one.name in OFFER_SESSIONS else set()
    # One player asks for an argument on purpose that no message has.
    named = {"mcp.arguments"} if one.name == "FastMcp4" else set()
    assert set(of_mcp) == expected, (one.name, of_mcp)
    assert {name for name, (verdict, _why) in of_mcp.items() if verdict != "conforms"} == named, (one.name, of_mcp)
    assert report["can_play"], (one.name, clauses)
    (one.folder / f"{one.name}.jsonl").unlink()
    one.requests.clear()


@pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
def test_players_made_with_any_sdk_play_without_a_fault_and_receive_every_broadcast(
    sdks: Path, tmp_path: Path, checked: bool
) -> None:
    site, folder = Site(tmp_path / "data", "--no-demo"), tmp_path / "players"
    shutil.copytree(PLAYERS, folder)
    (folder / "node_modules").symlink_to(sdks / "node_modules")
    with ExitStack() as stack:
        stack.callback(site.close)
        site.create("sdk", retry_base_s=0.25)
        students = [stack.enter_context(student(sdks, name, site, "sdk", folder)) for name in CAST]
        plain: list[Player] = []
        for number in range(PLAIN):
            plain.append(Player(site, f"Plain{number}", tmp_path, "--league-id", "sdk"))
            stack.callback(plain[-1].close)
        for one in students:
            wait_for(f"{one.name} has joined", lambda one=one: "JOINED" in one.output())
        for one in students if checked else ():
            check(site, one)
        site.play_to_the_end("sdk")
        for one in students:
            last = RECEIVED.get(one.name, CANONICAL)[-1]
            wait_for(f"{one.name} was told the end", lambda one=one, last=last: last in str(one.received()[-1:]))

        matches = [site.get(f"/leagues/sdk/matches/{one['match_id']}") for one in site.get("/leagues/sdk/matches")]
        assert [fault for match in matches for fault in match["result"]["faults"]] == []
        assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
        assert [player.deviations() for player in plain] == [[]] * PLAIN
        assert site.stop() == 0

    for one in students:
        names = RECEIVED.get(one.name, CANONICAL)
        counts = Counter(call["tool"] for call in one.received())
        assert counts == dict.fromkeys(names[:-1], ROUNDS) | {names[-1]: 1}, one.name
        opened = {request.new_session for request in one.requests if request.method == "initialize"} - {""}
        closed = {request.session for request in one.requests if request.verb == "DELETE"}
        assert (bool(opened), opened - closed) == (one.name in NEED_SESSIONS, set()), one.name
        calls = [request for request in one.requests if request.method == "tools/call"]
        assert len(calls) == sum(counts.values()), one.name
        # Besides the calls: a first broadcast that is not understood, discover, the list of its tools, and sessions.
        max_discovery = 0 if checked else 3
        assert len(one.requests) - len(calls) <= max_discovery + 4 * len(opened), (one.name, one.requests)
        if checked:
            assert {"server/discover", "tools/list"}.isdisjoint(request.method for request in one.requests), one.name
        if one.name not in NEED_SESSIONS:
            assert {request.version for request in calls} == {"2026-07-28"}, one.name
