"""An instructor clicks in one browser, and the table changes in an anonymous spectator's browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.site import Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
LEAGUE = "clicked"


def test_an_instructors_click_changes_the_table_on_a_spectators_page(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with league_with_players(site, LEAGUE, 4, tmp_path) as players:
        errors: list[str] = []
        board = browser.new_context().new_page()
        collect_errors(board, errors)
        board.goto(f"{site.url}/leagues/{LEAGUE}/")
        rows = board.locator("#fragment-standings tbody tr")
        expect(rows).to_have_count(4)
        board.evaluate("window.sameDocument = true")

        desk = browser.new_context().new_page()
        log_in(desk, site)
        desk.goto(f"{site.url}/admin/matches/league/")
        desk.get_by_role("link", name=LEAGUE).click()
        for player in players:
            expect(desk.locator(".desk")).to_contain_text(player.player_id)
        desk.get_by_role("button", name="Close registration and make the schedule").click()
        expect(desk.locator(".messagelist")).to_contain_text("the schedule is made")
        expect(board.locator("#fragment-header")).to_contain_text("scheduled")
        desk.get_by_role("button", name="Start round 1").click()
        expect(desk.locator(".messagelist")).to_contain_text("The round is started")

        table_body = board.locator("#fragment-standings tbody")
        expect(board.locator("#fragment-results")).to_contain_text("R1M2", timeout=20_000)
        site_table = site.get(f"/leagues/{LEAGUE}/standings")
        assert [row["played"] for row in site_table] == [1, 1, 1, 1]
        for row in site_table:
            expect(table_body.locator(f"#row-{row['player_id']}")).to_contain_text(str(row["points"]))
        expect(rows.first).to_contain_text(site_table[0]["player_id"])
        expect(board.locator("#fragment-header")).to_contain_text("Round 1 is over")
        assert board.evaluate("window.sameDocument") is True, "the page was reloaded"

        desk.get_by_role("button", name="Run all rounds").click()
        expect(board.locator("#fragment-header")).to_contain_text("The league is over", timeout=20_000)
        desk.goto(f"{site.url}/admin/matches/league/{LEAGUE}/change/")
        expect(desk.locator(".desk")).to_contain_text("completed")
        assert errors == []
        assert [player.deviations() for player in players] == [[], [], [], []]
