"""``league check`` of our own site as a league manager, and of real players."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bots.foreign_agents.processes import ABSENT
from tests.e2e.site import ROOT, Site, bots, league_with_players, wait_for
from tests.e2e.test_foreign_agents import GROUPS
from tests.e2e.test_zoo import REGISTERING, cast_of, first_referee_port

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "examined"


def check(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run ``league check … --json``; returns its exit code and its report."""
    done = subprocess.run(
        [sys.executable, "-m", "league_sdk", "check", *arguments, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def clauses_with(report: dict[str, Any], verdict: str) -> list[str]:
    """The ids of the clauses with a verdict."""
    return [clause["id"] for clause in report["clauses"] if clause["verdict"] == verdict]


def test_our_own_site_conforms_in_every_clause_but_the_skipped_announcement(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo", "--referees", "0")
    try:
        code, report = check(f"{site.url}/mcp", "--as", "manager")
    finally:
        site.close()
    not_conforming = [clause for clause in report["clauses"] if clause["verdict"] in ("fails", "tolerated")]
    assert not_conforming == []
    assert clauses_with(report, "skipped") == ["round.announcement"]
    assert (code, report["can_play"]) == (0, True)


def test_a_registered_player_is_checked_and_plays_on(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, LEAGUE, 2, tmp_path) as players:
        mine = players[0]
        address = mine.endpoint.replace("localhost", "127.0.0.1")
        code, report = check(address, "--player-id", mine.player_id, "--league-id", LEAGUE, "--no-farewell")
        assert clauses_with(report, "fails") == []
        assert (code, report["can_play"], report["dialect"]) == (0, True, "canonical")
        site.play_to_the_end(LEAGUE)
        players[1].wait_for_last_message()
        assert players[1].deviations() == []


def test_every_newly_registered_player_is_checked_without_a_click(tmp_path: Path) -> None:
    """Each registration starts a check by itself; the API and the wall then say that every player can play."""
    site = Site(tmp_path / "data", "--no-demo", environment={"LEAGUE_CHECK_ON_REGISTRATION": "1"})
    try:
        with league_with_players(site, "fresh", 4, tmp_path):

            def readiness() -> list[str]:
                agents = site.get("/leagues/fresh/agents")
                return [agent["ready"] for agent in agents if agent["kind"] == "player"]

            wait_for("all were checked", lambda: readiness() == ["ready"] * 4)
            wall = site.http.get("/leagues/fresh/screen/").text
            assert "<strong>4</strong> of 4 can play" in wall
            site.play_to_the_end("fresh")
    finally:
        site.close()


def cannot_play(site: Site, league_id: str, count: int) -> dict[str, str]:
    """Wait until all players of a league were checked; returns by name the verdicts on those that cannot play."""

    def readiness() -> dict[str, str]:
        agents = site.get(f"/leagues/{league_id}/agents")
        return {one["display_name"]: one["ready"] for one in agents if one["kind"] == "player"}

    def is_checked() -> bool:
        return not {"checking", "not_checked"} & set(readiness().values())

    wait_for("all were checked", is_checked, patience_s=400)
    assert len(readiness()) == count
    return {name: ready for name, ready in readiness().items() if ready not in ("ready", "slow")}


@contextmanager
def checking_site(folder: Path, league_id: str) -> Iterator[Site]:
    """A site that checks every agent that registers, with one open league."""
    site = Site(folder / "data", "--no-demo", environment={"LEAGUE_CHECK_ON_REGISTRATION": "1"})
    try:
        # Otherwise the default league would take the agents that name no league.
        site.post("/leagues/league_2025_even_odd/stop")
        site.create(league_id, join_timeout_s=5, move_timeout_s=5)
        (folder / league_id).mkdir()
        yield site
    finally:
        site.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(2))
def test_every_agent_of_the_zoo_that_plays_passes_the_check(tmp_path: Path, number: int) -> None:
    """The check finds each agent of the zoo playable in the agent's own dialect, as leagues do (``test_zoo.py``)."""
    names = REGISTERING[number::2]
    with (
        checking_site(tmp_path, "zoo") as site,
        cast_of(site, tmp_path / "zoo", names, first_referee_port(site)),
    ):
        assert cannot_play(site, "zoo", len(names)) == {}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(4))
def test_every_foreign_agent_that_is_played_passes_the_check(tmp_path: Path, number: int) -> None:
    """The agents that no document describes pass, too: leagues play all of them (``test_foreign_agents.py``)."""
    names = [name for group in GROUPS.values() for name in group if name not in ABSENT][number::4]
    with checking_site(tmp_path, "foreign_agents") as site:
        options = ("--bots", ",".join(names), "--log-folder", str(tmp_path / "foreign_agents"))
        with bots(site, "foreign_agents", *options) as lines:
            assert [line for line in lines if not line.startswith("READY ")] == []
            assert cannot_play(site, "foreign_agents", len(names)) == {}
