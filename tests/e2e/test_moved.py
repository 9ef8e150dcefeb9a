"""A player is killed and comes back at another port with its token, while its league runs and another one is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.site import Player, Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE, NEXT = "moves", "moves-next"


def test_a_player_that_comes_back_at_another_port_plays_on_as_itself(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, LEAGUE, 2, tmp_path, min_players=3):
        third = Player(site, "Third", tmp_path, "--league-id", LEAGUE)
        site.post(f"/leagues/{LEAGUE}/start")
        site.wait_for_round(LEAGUE, 1)
        token = third.auth_token()
        third.close()
        site.create(NEXT)
        # It names no league, as most agents do: the next one is the only one that is open.
        back = Player(site, "Third", tmp_path / LEAGUE, "--token", token)
        try:
            assert back.player_id == third.player_id == "P03"
            assert back.endpoint != third.endpoint
            assert site.get(f"/leagues/{NEXT}/standings") == []

            def has_moved() -> bool:
                events = site.get(f"/leagues/{LEAGUE}/events?limit=500")["events"]
                moved = [event["data"] for event in events if event["kind"] == "player_moved"]
                return moved == [{"player_id": "P03", "name": "Third"}]

            wait_for("the move counts", has_moved)
            for number in (2, 3):
                site.post(f"/leagues/{LEAGUE}/rounds/start")
                site.wait_for_round(LEAGUE, number)
            assert {match["status"] for match in site.get(f"/leagues/{LEAGUE}/matches")} <= {"WIN", "DRAW"}
            assert len([one for one in back.messages() if one["message_type"] == "GAME_OVER"]) >= 1
            assert "our row is not our record" not in third.deviations()
        finally:
            back.close()
            site.post(f"/leagues/{NEXT}/stop")
