"""Agents that nobody can call play through a bridge, as they are (ruling, section 13)."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bridges import bridged_manager
from tests.e2e.site import Player, Site, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
LEAGUE = "league_2025_even_odd"


def faults(site: Site) -> list[Any]:
    """The faults of all matches of the league, each with the id of its match."""
    matches = site.get(f"/leagues/{LEAGUE}/matches")
    assert matches
    matches = [site.get(f"/leagues/{LEAGUE}/matches/{match['match_id']}") for match in matches]
    return [(match["match_id"], fault) for match in matches for fault in match["result"]["faults"]]


@pytest.mark.parametrize("kill_site", [False, pytest.param(True, marks=pytest.mark.long)])
def test_strict_players_play_a_league_through_the_bridge_of_the_starter_kit(tmp_path: Path, kill_site: bool) -> None:
    site, players = Site(tmp_path / "data", "--no-demo"), list[Player]()
    try:
        kit = site.http.get(f"/leagues/{LEAGUE}/join/kit.zip").content
        zipfile.ZipFile(io.BytesIO(kit)).extractall(tmp_path)
        # -IS: the bridge must run without installed packages and without our own modules.
        program = (sys.executable, "-IS", str(tmp_path / "league-kit-python" / "bridge.py"))
        with bridged_manager(site, tmp_path, program=program) as (through_bridge, log):
            for number in (1, 2, 3):
                # A host name that does not exist: the site could never call this player itself.
                players.append(
                    Player(through_bridge, f"Agent{number}", tmp_path, "--register-host", "my-laptop.invalid")
                )
            if kill_site:
                site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
                wait_for("the first invitation is relayed", lambda: "GAME_INVITATION" in log.read_text())
                site.kill()
                site.start()
                site.wait_until(LEAGUE, "COMPLETED")
            else:
                site.play_to_the_end(LEAGUE)
            for player in players:
                player.wait_for_last_message()
            # If a referee was killed after sending GAME_OVER, another referee sends it again (ruling, section 12).
            tolerated = (
                {"sender contradicts the invitation", "GAME_OVER twice in one conversation"} if kill_site else set()
            )
            assert {deviation for player in players for deviation in player.deviations()} <= tolerated
            assert faults(site) == []
            printed = log.read_text()
            assert "GAME_INVITATION R1M1 -> HTTP 200" in printed
            assert not any(secret in printed for player in players for secret in player.secrets())
        assert site.stop() == 0
    finally:
        for player in players:
            player.close()
        site.close()
