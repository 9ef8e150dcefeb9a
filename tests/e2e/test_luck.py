"""How much of a table is luck, on a real site: it comes by itself while people look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import collect_errors
from tests.e2e.pictures import too_wide
from tests.e2e.site import Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
LEAGUE = "lucky"


def test_bars_and_sentences_come_by_themselves_when_rounds_are_over(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with league_with_players(site, LEAGUE, 4, tmp_path):
        errors: list[str] = []
        pages = {}
        for path in ("", "players/P01/", "screen/"):
            page = pages[path] = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
            collect_errors(page, errors)
            page.goto(f"{site.url}/leagues/{LEAGUE}/{path}")
            expect(page.locator("body")).to_have_attribute("data-connection", "live")
            expect(page.locator("[data-luck], .luck")).to_have_count(0)
        site.play_to_the_end(LEAGUE)

        def figures() -> dict[str, Any] | None:
            told: dict[str, Any] = site.get(f"/leagues/{LEAGUE}/luck")
            return told if told["current"] else None

        told = wait_for("the luck of the whole league is worked out", figures)
        assert (told["after_round"], told["game_of_chance"], told["coin"]) == (3, True, True)
        board, player = pages[""], pages["players/P01/"]
        expect(board.locator(".standings .luck")).to_have_count(4)
        expect(board.locator("[data-luck]")).to_contain_text("if rounds 1 to 3 were played again")
        expect(pages["screen/"].locator(".luck")).to_have_count(4)
        one = next(row for row in told["players"] if row["player_id"] == "P01")
        expect(player.locator("[data-luck]")).to_contain_text(f"on average: {one['expected_points']:.1f}")
        assert [too_wide(page) for page in pages.values()] == [0, 0, 0]
        board.locator("[data-luck] a").click()
        expect(board.locator("h1").first).to_contain_text("How much of a table is luck")
        assert errors == []
