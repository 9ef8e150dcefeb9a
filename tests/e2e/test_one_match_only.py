"""An attacker registers a victim's program four more times: it is in one match at a time, and loses none by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.site import ROOT, site_with_players

pytestmark = pytest.mark.e2e
LEAGUE = "crowded"
ALIASES = ("/c0", "/c1", "//c2", "/x/../c3")


def test_a_program_that_others_register_too_is_called_for_one_match_at_a_time(tmp_path: Path) -> None:
    refused = tmp_path / "refused.txt"
    command = [sys.executable, str(ROOT / "tests/bots/one_match_only.py"), "--log", str(refused)]
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert victim.stdout is not None
        port = victim.stdout.readline().split()[1]
        with site_with_players(tmp_path, 1, league=LEAGUE, player_options=("--league-id", LEAGUE)) as (site, _):
            ids = []
            hosts = ("127.0.0.1", "localhost", "127.0.0.1", "2130706433")
            places = [("Victim", "127.0.0.1", "/mcp")]
            places += [(f"Alias {n}", host, path) for n, (host, path) in enumerate(zip(hosts, ALIASES, strict=True))]
            for name, host, path in places:
                message = {"name": name, "endpoint": f"http://{host}:{port}{path}", "league_id": LEAGUE}
                ids.append(site.http.post("/register", json=message).json()["player_id"])
            assert None not in ids
            site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
            site.wait_until(LEAGUE, "COMPLETED")
            found = site.get(f"/leagues/{LEAGUE}/matches")
    finally:
        victim.kill()
        victim.wait()
        if victim.stdout is not None:
            victim.stdout.close()
    assert not refused.exists(), refused.read_text(encoding="utf-8")
    assert len(found) == 15
    assert {match["status"] for match in found} <= {"WIN", "DRAW"}
