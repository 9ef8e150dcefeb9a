"""From an empty folder to a checked agent that has played, by the commands of docs/cli.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.newcomer import LEAGUE, Newcomer, checkout, follow
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_the_commands_of_the_page_lead_to_a_played_and_verified_match(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo")
    folder = tmp_path / "empty"
    folder.mkdir()
    newcomer = Newcomer(folder, *checkout())
    try:
        output = follow(newcomer, site)
        assert "My Agent is P0" in output
        assert "(TECHNICAL_LOSS)" not in output
        watched = newcomer.run(["league", "watch", f"{site.url}/leagues/{LEAGUE}/", "--once"])
        assert "My Agent" in watched
        assert "COMPLETED, round 1 of 1" in watched
        lines = newcomer.run(["league", "watch", site.url, "--league-id", LEAGUE, "--json"]).splitlines()
        assert json.loads(lines[-1])["league"]["status"] == "COMPLETED"
        assert newcomer.run(["league", "verify", f"{site.url}/leagues/{LEAGUE}/"]).startswith("HOLDS")
    finally:
        newcomer.close()
        site.close()
    names = sorted(path.name for path in (folder / "league_data").rglob("*") if path.is_file())
    assert [name for name in names if name == "history.json"]
    assert [name for name in names if name.startswith("token-")]
