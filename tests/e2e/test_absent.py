"""A player whose process has ended loses its own matches only: it is suspended, shut down, and may come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.site import Player, Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "absent"
QUICK = {
    "join_timeout_s": 1,
    "move_timeout_s": 1,
    "retry_base_s": 0.05,
    "announce_wait_s": 0.2,
    "suspend_after": 1,
    "shutdown_after": 2,
}


def test_a_dead_player_loses_its_own_matches_only(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, LEAGUE, 4, tmp_path, **QUICK) as players:
        dead = players[3]
        dead.close()
        site.play_to_the_end(LEAGUE)

        rows = {row["player_id"]: row for row in site.get(f"/leagues/{LEAGUE}/standings")}
        assert (rows["P04"]["played"], rows["P04"]["technical_losses"], rows["P04"]["points"]) == (3, 3, 0)
        assert all(rows[player]["technical_losses"] == 0 for player in ("P01", "P02", "P03"))
        matches = {match["match_id"]: match for match in site.get(f"/leagues/{LEAGUE}/matches")}
        lost_by_p04 = [matches[match_id] for match_id in ("R1M2", "R2M2", "R3M1")]
        assert [match["status"] for match in lost_by_p04] == ["TECHNICAL_LOSS"] * 3
        assert [match["winner"] for match in lost_by_p04] == ["P03", "P02", "P01"]

        first = site.get(f"/leagues/{LEAGUE}/matches/R1M2")
        [fault] = first["result"]["faults"]
        assert (fault["error_code"], fault["message_type"], fault["tries"]) == ("E009", "GAME_INVITATION", 4)
        assert (fault["cause"], fault["detail"]) == ("CONNECT", "nobody listens at its address")
        assert first["result"]["choices"] == {"P03": None, "P04": None}
        assert first["result"]["drawn_number"] is None
        while_suspended = site.get(f"/leagues/{LEAGUE}/matches/R2M2")
        assert [fault["tries"] for fault in while_suspended["result"]["faults"]] == [1]
        after_shutdown = site.get(f"/leagues/{LEAGUE}/matches/R3M1")
        assert (after_shutdown["attempt"], after_shutdown["transcript"]) == (0, [])
        assert [fault["cause"] for fault in after_shutdown["result"]["faults"]] == ["CONNECT"]
        # P01 won R3M1 without being called (ruling, section 8), so its own record lacks that match.
        assert set(players[0].deviations()) == {"our row is not our record"}
        assert [player.deviations() for player in players[1:3]] == [[], []]


def test_a_player_that_comes_back_plays_the_rest(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, "back", 2, tmp_path, **QUICK):
        third = Player(site, "Third", tmp_path, "--league-id", "back")
        port = third.endpoint.rsplit(":", 1)[1].split("/")[0]
        third.close()
        site.post("/leagues/back/start")
        wait_for("round 1 is over", lambda: site.get("/leagues/back")["matches_done"] == 1)
        back = Player(site, "Third", tmp_path, "--league-id", "back", "--port", port)
        try:
            assert back.player_id == third.player_id == "P03"
            for done in (2, 3):
                wait_for(
                    "no round is in play",
                    lambda: all(one["state"] in ("COMPLETED", "PENDING") for one in site.get("/leagues/back/rounds")),
                )
                site.post("/leagues/back/rounds/start")
                wait_for(
                    "the match of the player that came back is over",
                    lambda done=done: site.get("/leagues/back")["matches_done"] == done,
                )
            site.wait_until("back", "COMPLETED")
            assert {match["status"] for match in site.get("/leagues/back/matches")} <= {"WIN", "DRAW"}
            assert all(row["technical_losses"] == 0 for row in site.get("/leagues/back/standings"))
        finally:
            back.close()


def test_a_league_whose_class_has_gone_waits_for_a_click(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, "gone", 6, tmp_path, **QUICK | {"suspend_after": 2, "shutdown_after": 5}) as players:
        site.post("/leagues/gone/start")
        site.wait_for_round("gone", 1)
        for player in players[1:]:
            player.close()
        site.post("/leagues/gone/rounds/run_all")
        site.wait_for_round("gone", 2)
        league = site.get("/leagues/gone")
        assert (league["status"], league["paused"], league["round"], league["matches_done"]) == ("RUNNING", True, 2, 6)
        feed = site.get("/leagues/gone/events")["events"]
        [paused] = [one for one in feed if one["kind"] == "paused_as_absent"]
        assert paused["data"] == {"round_id": 2, "absent": 5, "called": 6}
        assert paused["text"] == "Paused: 5 of 6 players did not answer in round 2."

        # It goes on with a click, and does not stop again for those that it has waited for.
        site.post("/leagues/gone/start")
        site.wait_until("gone", "COMPLETED")
        league = site.get("/leagues/gone")
        assert (league["matches_done"], league["champion"]["player_id"]) == (15, "P01")
        kinds = [one["kind"] for one in site.get("/leagues/gone/events")["events"]]
        assert (kinds.count("paused_as_absent"), kinds.count("resumed")) == (1, 1)
