"""Four students' players play a league from registration to LEAGUE_COMPLETED."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.site import site_with_players

pytestmark = pytest.mark.e2e
LEAGUE = "league_2025_even_odd"


def test_four_chapter_eight_players_play_a_league(tmp_path: Path) -> None:
    with site_with_players(tmp_path, 4, player_options=("--choice", "alternate")) as (site, players):
        assert [player.player_id for player in players] == ["P01", "P02", "P03", "P04"]
        league = site.play_to_the_end(LEAGUE)
        for player in players:
            player.wait_for_last_message()

        assert [player.deviations() for player in players] == [[], [], [], []]
        assert (league["round"], league["rounds"], league["matches"], league["matches_done"]) == (3, 3, 6, 6)
        round_of_messages = [
            "ROUND_ANNOUNCEMENT",
            "GAME_INVITATION",
            "CHOOSE_PARITY_CALL",
            "GAME_OVER",
            "LEAGUE_STANDINGS_UPDATE",
            "ROUND_COMPLETED",
        ]
        for player in players:
            seen = [message["message_type"] for message in player.messages()]
            assert seen == round_of_messages * 3 + ["LEAGUE_COMPLETED"]

        standings = site.get(f"/leagues/{LEAGUE}/standings")
        final = players[0].messages()[-1]
        assert [(row["player_id"], row["points"]) for row in final["final_standings"]] == [
            (row["player_id"], row["points"]) for row in standings
        ]
        assert league["champion"]["player_id"] == standings[0]["player_id"]
        assert sum(row["played"] for row in standings) == 12

        matches = site.get(f"/leagues/{LEAGUE}/matches")
        pairs = [(match["match_id"], match["player_A_id"], match["player_B_id"]) for match in matches]
        assert pairs == [
            ("R1M1", "P01", "P02"),
            ("R1M2", "P03", "P04"),
            ("R2M1", "P01", "P03"),
            ("R2M2", "P02", "P04"),
            ("R3M1", "P01", "P04"),
            ("R3M2", "P02", "P03"),
        ]
        assert {match["state"] for match in matches} == {"FINISHED"}
        assert {match["attempt"] for match in matches} == {1}
        detail = site.get(f"/leagues/{LEAGUE}/matches/R1M1")
        assert [step["state"] for step in detail["lifecycle"]][-1] == "FINISHED"
        kinds = sorted(entry["message_type"] for entry in detail["transcript"])
        assert kinds.count("GAME_INVITATION") == kinds.count("GAME_JOIN_ACK") == 2
        assert kinds.count("CHOOSE_PARITY_CALL") == kinds.count("CHOOSE_PARITY_RESPONSE") == 2
        assert kinds.count("GAME_OVER") == 2
        for path in ("standings", "rounds", "matches", "matches/R1M1", "agents"):
            public = json.dumps(site.get(f"/leagues/{LEAGUE}/{path}"))
            assert not any(secret in public for player in players for secret in player.secrets())
        assert site.stop() == 0
