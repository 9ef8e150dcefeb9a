"""An instructor previews, confirms and undoes a correction on a real site; the board shows it with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import log_in
from tests.e2e.site import Player, Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
REASON, UNDO_REASON = "the wrong game was started", "it was the right one after all"


def points(site: Site) -> dict[str, int]:
    return {row["player_id"]: row["points"] for row in site.get("/leagues/corrected/standings")}


def points_told(player: Player, number: int) -> list[int]:
    """The points of a player's own row in each table that it was sent."""
    own = f"P{number:02}"
    tables = [one["standings"] for one in player.messages() if one.get("message_type") == "LEAGUE_STANDINGS_UPDATE"]
    return [row["points"] for table in tables for row in table if row["player_id"] == own]


def test_an_instructor_sets_a_result_by_hand_and_undoes_it(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, "corrected", 4, tmp_path) as players:
        site.play_to_the_end("corrected")
        was = points(site)
        match = next(one for one in site.get("/leagues/corrected/matches") if one["match_id"] == "R1M1")
        loser = match["player_B_id"] if match["winner"] != match["player_B_id"] else match["player_A_id"]
        desk = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
        public = browser.new_context(viewport={"width": 1920, "height": 1080}).new_page()
        log_in(desk, site)
        public.goto(f"{site.url}/leagues/corrected/")

        desk.goto(f"{site.url}/admin/matches/league/corrected/corrections/")
        desk.get_by_role("link", name="Set a result by hand").click()
        desk.select_option("#id_match_id", "R1M1")
        desk.get_by_label("the first player won" if loser == match["player_A_id"] else "the second player won").check()
        desk.fill("#id_reason", REASON)
        desk.get_by_role("button", name="Preview").click()
        expect(desk.locator(".correct-changes")).to_contain_text(f"{loser} won")
        assert points(site) == was

        desk.get_by_role("button", name="Confirm: Set a result by hand").click()
        expect(desk.locator("#correction-1")).to_contain_text(REASON)
        now = points(site)
        assert now[loser] > was[loser]
        expect(public.locator("#fragment-feed")).to_contain_text(REASON)
        number = int(loser[1:])
        wait_for(
            "the player is told its new points", lambda: points_told(players[number - 1], number)[-1:] == [now[loser]]
        )

        desk.locator("#correction-1").get_by_role("link", name="Undo").click()
        desk.fill("#id_reason", UNDO_REASON)
        desk.get_by_role("button", name="Undo correction #1").click()
        expect(desk.locator("#correction-1")).to_contain_text(UNDO_REASON)
        assert points(site) == was
        expect(public.locator("#fragment-feed")).to_contain_text(UNDO_REASON)


@pytest.mark.long
def test_a_match_is_played_again_after_the_end_of_the_league(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, "again", 2, tmp_path) as players:
        site.play_to_the_end("again")
        for player in players:
            player.wait_for_last_message()
        correction = {"kind": "replay", "match_id": "R1M1", "reason": REASON}
        site.post("/leagues/again/corrections", correction, status=201)

        def is_played_again() -> bool:
            match = site.get("/leagues/again/matches/R1M1")
            return match["state"] == "FINISHED" and match["attempt"] == 2

        wait_for("the match has been played again", is_played_again)
        league = site.get("/leagues/again")
        assert (league["status"], league["matches_done"]) == ("COMPLETED", 1)
        assert league["champion"]["player_id"] == site.get("/leagues/again/standings")[0]["player_id"]
        wait_for(
            "both are sent the table again",
            lambda: all(len(points_told(one, n + 1)) >= 3 for n, one in enumerate(players)),
        )
        # 004 chapter 8 knows no message after the end of the league, so the strict players count these as deviations.
        assert {one for player in players for one in player.deviations()} <= {
            "a call after LEAGUE_COMPLETED",
            "an invitation after the end of its round",
            "standings of a round that is not open",
            # The player counts both of its results, and the league no longer counts the first.
            "our row is not our record",
        }


@pytest.mark.long
def test_another_champion_is_told_to_every_player_and_so_is_whoever_is_disqualified(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, "unseated", 3, tmp_path) as players:
        site.play_to_the_end("unseated")
        for player in players:
            player.wait_for_last_message()
        first = site.get("/leagues/unseated")["champions"]
        ousted = first[0]["player_id"]
        correction = {"kind": "disqualify", "player_id": ousted, "matches_become": "lose", "reason": REASON}
        site.post("/leagues/unseated/corrections", correction, status=201)
        champions = [one["player_id"] for one in site.get("/leagues/unseated")["champions"]]
        assert ousted not in champions

        def ends(player: Player) -> list[dict[str, Any]]:
            return [one for one in player.messages() if one.get("message_type") == "LEAGUE_COMPLETED"]

        wait_for("all hear of the end again", lambda: all(len(ends(player)) == 2 for player in players))
        for player in players:
            was, now = ends(player)
            assert ("corrected" in was, "out" in was, was["champions"]) == (False, False, first)
            assert (now["corrected"], now["out"]) == (True, {ousted: "disqualified"})
            assert [one["player_id"] for one in now["champions"]] == champions
            assert now["champion"] == now["champions"][0]
            assert now["conversation_id"] != was["conversation_id"]
            table = [one for one in player.messages() if one.get("message_type") == "LEAGUE_STANDINGS_UPDATE"][-1]
            assert table["out"] == {ousted: "disqualified"}
            assert {row["player_id"]: row["rank"] for row in table["standings"]}[ousted] == 3
