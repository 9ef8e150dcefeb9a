"""Players that are equal in everything but their ids share a place and the title, on the pages and in the API."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.pictures import VIEWPORTS, shoot, too_wide
from tests.e2e.site import Site
from tests.e2e.test_every_page import violations
from tests.e2e.undecided import undecided

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.long]


def test_equal_players_share_the_first_place_and_are_all_champions(site: Site, browser: Browser) -> None:
    site.create("ties")
    with undecided() as ada, undecided() as blaise:
        for name, agent in (("Ada", ada), ("Blaise", blaise)):
            # Both players choose the same, so every match ends in a draw.
            agent.choice = "even"
            register = {"display_name": name, "endpoint": agent.endpoint, "league_id": "ties"}
            assert site.http.post("/register", json=register).json()["status"] == "ACCEPTED"
        site.play_to_the_end("ties")
    assert [(row["rank"], row["tied_rank"]) for row in site.get("/leagues/ties/standings")] == [(1, 1), (2, 1)]
    assert [one["display_name"] for one in site.get("/leagues/ties")["champions"]] == ["Ada", "Blaise"]

    for locale, word in (("en", "Champions"), ("he", "אלופי הליגה")):
        page = browser.new_context(locale=locale).new_page()
        for name, (width, height) in VIEWPORTS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if name == "projector" else "light")
            page.goto(f"{site.url}/leagues/ties/")
            expect(page.locator(".champion-word")).to_have_text(word)
            expect(page.locator("td.c-rank")).to_have_text(["=1", "=1"])
            assert (too_wide(page), violations(page)) == (0, [])
            shoot(page, f"ties-board-{name}-{locale}")
        page.goto(f"{site.url}/leagues/ties/screen/")
        expect(page.locator("[data-scene=champion] .champion-name")).to_have_text(["Ada", "Blaise"])
        expect(page.locator("[data-scene=champion]")).to_be_visible(timeout=60_000)
        shoot(page, f"ties-screen-{locale}")
        page.goto(f"{site.url}/leagues/ties/players/P02/")
        expect(page.locator(".record-main").first).to_contain_text("=1")
        shoot(page, f"ties-player-{locale}")
