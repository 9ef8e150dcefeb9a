"""An instructor runs a league by the tools of MCP alone, and nobody else can."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.mcp_tools import Tools
from tests.e2e.site import API_KEY, Player, Site, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "evening"
WHY = "the projector failed"


def test_an_instructor_runs_a_league_by_tools(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = Site(tmp_path / "data", "--no-demo")
        stack.callback(site.close)
        tools = Tools(site.url, API_KEY)
        stack.callback(tools.close)
        made = tools.call("create_league", league_id=LEAGUE, display_name="Evening", settings={"min_players": 2})
        assert (made["league"]["status"], made["league"]["display_name"]) == ("REGISTRATION", "Evening")
        players = [Player(site, f"Agent{number}", tmp_path, "--league-id", LEAGUE) for number in range(1, 5)]
        for player in players:
            stack.callback(player.close)

        assert tools.call("create_schedule", league_id=LEAGUE)["total_matches"] == 6
        assert tools.call("freeze", league_id=LEAGUE, from_round=3)["freeze"]["from_round"] == 3
        assert tools.call("start_round", league_id=LEAGUE)["done"] == "The round is started."
        site.wait_for_round(LEAGUE, 1)
        assert tools.call("pause", league_id=LEAGUE)["league"]["paused"]
        assert tools.refused("start_round", league_id=LEAGUE) == "Evening is paused: resume it first."
        assert not tools.call("resume", league_id=LEAGUE)["league"]["paused"]

        # A student sees these tools in the list, but has no key.
        student = Tools(site.url, players[0].auth_token())
        stack.callback(student.close)
        for name in ("start_round", "pause", "resume", "create_schedule"):
            assert student.refused(name, league_id=LEAGUE) == "This is not the instructor's API key."
        assert student.refused("replay_match", league_id=LEAGUE, match_id="R1M1", reason="I lost it")

        played = tools.call("replay_match", league_id=LEAGUE, match_id="R1M1", reason=WHY)["correction"]
        assert (played["kind"], played["reason"], played["made_by"]) == ("replay", WHY, "API")

        def is_played_again() -> bool:
            return bool(site.get(f"/leagues/{LEAGUE}/matches/R1M1")["state"] == "FINISHED")

        wait_for("the match is played again", is_played_again)
        tools.call("start_round", league_id=LEAGUE)
        site.wait_for_round(LEAGUE, 2)
        assert tools.call("start_round", league_id=LEAGUE)["league"]["round"] == 3
        assert site.get(f"/leagues/{LEAGUE}")["frozen_after_round"] == 2

        entries = site.get(f"/audit?league_id={LEAGUE}")["entries"]
        done = ["site.open", "league.close", "freeze.plan", "league.start_round", "league.pause", "league.resume"]
        done += ["correction.replay", "league.start_round", "league.start_round"]
        assert [entry["action"] for entry in reversed(entries)] == done
        assert {(entry["account"], entry["via"]) for entry in entries} == {("", "api")}
