"""An attacker registers a victim's program four more times: it is called for one match at a time, and no match is lost
technically."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bots.one_match_only import OneMatchOnly
from tests.bots.scripted import listening
from tests.e2e.site import site_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "crowded"
ALIASES = ("/c0", "/c1", "//c2", "/x/../c3")


def test_a_program_that_others_register_too_is_called_for_one_match_at_a_time(tmp_path: Path) -> None:
    victim = OneMatchOnly()
    with (
        listening(victim) as server,
        site_with_players(tmp_path, 1, league=LEAGUE, player_options=("--league-id", LEAGUE)) as (site, _),
    ):
        hosts = ("127.0.0.1", "localhost", "127.0.0.1", "2130706433")
        addresses = [("Victim", "127.0.0.1", "/mcp")]
        addresses += [(f"Alias {n}", host, path) for n, (host, path) in enumerate(zip(hosts, ALIASES, strict=True))]
        for name, host, path in addresses:
            message = {"name": name, "endpoint": f"http://{host}:{server.port}{path}", "league_id": LEAGUE}
            assert site.http.post("/register", json=message).json()["player_id"]
        site.play_to_the_end(LEAGUE)
        matches = site.get(f"/leagues/{LEAGUE}/matches")
    assert victim.refused == []
    assert len(matches) == 15
    assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
