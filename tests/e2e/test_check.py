"""Our own site under the check of league managers, and a real player under the check of players."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import ROOT, Site, league_with_players

pytestmark = pytest.mark.e2e
LEAGUE = "examined"


def check(*arguments: str) -> tuple[int, dict[str, Any]]:
    """``league check … --json``: its exit code and its report."""
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


def named(report: dict[str, Any], verdict: str) -> list[str]:
    return [clause["id"] for clause in report["clauses"] if clause["verdict"] == verdict]


def test_our_own_site_conforms_in_everything(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo", "--referees", "0")
    try:
        code, report = check(f"{site.url}/mcp", "--as", "manager")
    finally:
        site.close()
    wanting = [clause for clause in report["clauses"] if clause["verdict"] in ("fails", "tolerated")]
    assert wanting == []
    assert named(report, "skipped") == ["round.announcement"]
    assert (code, report["can_play"]) == (0, True)


def test_a_registered_player_is_checked_and_plays_on(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, LEAGUE, 2, tmp_path) as players:
        mine = players[0]
        address = mine.endpoint.replace("localhost", "127.0.0.1")
        code, report = check(address, "--player-id", mine.player_id, "--league-id", LEAGUE, "--no-farewell")
        assert named(report, "fails") == []
        assert (code, report["can_play"], report["dialect"]) == (0, True, "canonical")
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        site.wait_until(LEAGUE, "COMPLETED")
        players[1].wait_for_last_message()
        assert players[1].deviations() == []
