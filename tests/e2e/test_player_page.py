"""A player's page on a real site: it fills while the league is played, on a phone and on a projector."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import collect_errors
from tests.e2e.pictures import too_wide
from tests.e2e.site import Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
LEAGUE = "followed"


def test_the_page_of_a_player_fills_as_it_plays(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, LEAGUE, 4, tmp_path) as players:
        errors: list[str] = []
        pages = []
        for viewport in ({"width": 390, "height": 844}, {"width": 1920, "height": 1080}):
            page = browser.new_context(viewport=viewport).new_page()
            collect_errors(page, errors)
            page.goto(f"{site.url}/leagues/{LEAGUE}/players/P01/")
            expect(page.locator("body")).to_have_attribute("data-connection", "live")
            expect(page.locator("#fragment-player_matches")).to_contain_text("as soon as the schedule is made")
            page.evaluate("window.sameDocument = true")
            pages.append(page)

        site.play_to_the_end(LEAGUE)
        row = next(one for one in site.get(f"/leagues/{LEAGUE}/standings") if one["player_id"] == "P01")
        for page in pages:
            expect(page.locator("#fragment-player_matches tbody tr")).to_have_count(3)
            expect(page.locator(".to-come")).to_have_count(0)
            expect(page.locator(".record-main dd").nth(1)).to_have_text(str(row["points"]))
            expect(page.locator("#fragment-player_choices")).to_contain_text("won")
            expect(page.locator("#fragment-player_times .strip")).to_have_count(2)
            expect(page.locator("#fragment-player_times .strip circle")).to_have_count(6)
            assert page.evaluate("window.sameDocument") is True, "the page was reloaded"
            assert too_wide(page) == 0

        # From there to an opponent's page by keyboard, and to a match by a click.
        phone, projector = pages
        projector.locator("#fragment-player_matches tbody .c-name a").first.focus()
        projector.keyboard.press("Enter")
        expect(projector.locator("h1 .pid")).not_to_have_text("P01")
        phone.locator("#fragment-player_matches tbody a").first.click()
        expect(phone.locator("main")).to_contain_text("GAME_INVITATION")
        assert errors == []
        assert [player.deviations() for player in players] == [[], [], [], []]
