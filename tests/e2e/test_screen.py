"""The projector on a real site: from the readiness wall to the champion, without anybody touching it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors
from tests.e2e.pictures import too_wide
from tests.e2e.site import PASSWORD, Player, Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
PROJECTOR = {"width": 1920, "height": 1080}
PHONE = {"width": 390, "height": 844}


def opened(browser: Browser, url: str, errors: list[str], **context_options: object) -> Page:
    """A page in a browser of its own whose errors are collected."""
    page = browser.new_context(**{"viewport": PROJECTOR, **context_options}).new_page()
    collect_errors(page, errors)
    page.goto(url)
    expect(page.locator("body")).to_have_attribute("data-connection", "live")
    return page


def fits(page: Page) -> bool:
    """Whether the whole page fits on the screen, so that nobody has to scroll."""
    sideways = too_wide(page)
    return sideways == 0 and bool(page.evaluate("document.documentElement.scrollHeight <= innerHeight"))


def shown_scene(page: Page) -> str | None:
    """The name of the one scene that is shown."""
    expect(page.locator("[data-shown]")).to_have_count(1)
    return page.locator("[data-shown]").get_attribute("data-scene")


def test_the_screen_goes_from_readiness_wall_to_champion_by_itself(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with league_with_players(site, "screen", 0, tmp_path) as players:
        errors: list[str] = []
        projector = opened(browser, f"{site.url}/leagues/screen/screen/", errors)
        phone = opened(browser, f"{site.url}/leagues/screen/screen/", errors, viewport=PHONE)
        projector.evaluate("window.sameDocument = true")
        expect(projector.locator(".tile")).to_have_count(0)
        for number in range(1, 3):
            players.append(Player(site, f"Late{number}", tmp_path, "--league-id", "screen"))
        expect(projector.locator(".tile")).to_have_count(2)
        expect(projector.locator(".tile").first).to_contain_text("not checked")
        expect(phone.locator(".tile")).to_have_count(2)
        expect(projector.locator(".join-url")).to_have_text(f"127.0.0.1:{site.port}/leagues/screen/join/")
        expect(projector.get_by_role("img", name=re.compile("The address to register"))).to_be_visible()
        assert (shown_scene(projector), fits(projector)) == ("wall-1", True)

        site.play_to_the_end("screen")
        expect(projector.locator("[data-scene=champion]")).to_be_visible()
        expect(projector.locator(".wall-frame")).to_be_hidden()
        champion = site.get("/leagues/screen")["champion"]
        expect(projector.locator(".champion-first")).to_contain_text(champion["display_name"])
        expect(phone.locator(".champion-first")).to_contain_text(champion["display_name"])
        assert (shown_scene(projector), fits(projector)) == ("champion", True)
        for _ in range(6):
            projector.keyboard.press("ArrowRight")
            assert fits(projector)
            if shown_scene(projector) == "standings-1":
                break
        expect(projector.locator("[data-scene=standings-1] tbody tr")).to_have_count(2)
        assert projector.evaluate("window.sameDocument") is True, "the page was reloaded"
        assert errors == []


@pytest.mark.long
def test_the_scenes_change_by_themselves_and_by_the_keys(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, "rotating", 4, tmp_path):
        site.post("/leagues/rotating/start")
        site.wait_until("rotating", "RUNNING")
        errors: list[str] = []
        context = browser.new_context(viewport=PROJECTOR, reduced_motion="reduce")
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.clock.install()
        page.goto(f"{site.url}/leagues/rotating/screen/")
        expect(page.locator("#fragment-screen_head")).to_contain_text("Round 1 is over", timeout=30_000)
        assert shown_scene(page) == "standings-1"
        page.clock.run_for(12_000)
        assert shown_scene(page) == "news"
        page.clock.run_for(12_000)
        assert shown_scene(page) == "standings-1"
        page.keyboard.press(" ")
        expect(page.locator("[data-rotation-word]")).to_be_visible()
        page.clock.run_for(40_000)
        assert shown_scene(page) == "standings-1"
        page.keyboard.press("ArrowLeft")
        assert shown_scene(page) == "news"
        page.keyboard.press("PageDown")
        assert shown_scene(page) == "standings-1"
        page.keyboard.press(" ")
        expect(page.locator("[data-rotation-word]")).to_be_hidden()
        page.clock.run_for(12_000)
        assert shown_scene(page) == "news"
        # With reduced motion the line of the rotation is not animated.
        assert page.evaluate("document.querySelector('[data-rotation-line]').getAnimations().length") == 0
        expect(page.get_by_role("button")).to_have_count(0)
        assert (errors, fits(page)) == ([], True)


def register_agents(site: Site, count: int) -> None:
    """Register agents at addresses where nothing listens."""
    for number in range(1, count + 1):
        body = {
            "display_name": f"Agent with a rather long name {number}",
            "endpoint": f"http://127.0.0.1:{20_000 + number}/mcp",
            "league_id": "full",
        }
        assert site.http.post("/register", json=body).status_code == 200


@pytest.mark.long
def test_a_hundred_tiles_fit_on_the_projector(site: Site, browser: Browser) -> None:
    site.create("full")
    register_agents(site, 100)
    errors: list[str] = []
    for context_options in ({}, {"color_scheme": "dark", "viewport": {"width": 1280, "height": 720}}):
        page = opened(browser, f"{site.url}/leagues/full/screen/", errors, **context_options)
        expect(page.locator(".tile")).to_have_count(100)
        assert fits(page)
        # No tile cuts off its text.
        cut = "[...document.querySelectorAll('.tile')].filter((t) => t.scrollHeight > t.clientHeight + 1).length"
        assert page.evaluate(cut) == 0
        bottoms = "[...document.querySelectorAll('.tile')].map((tile) => tile.getBoundingClientRect().bottom)"
        assert max(page.evaluate(bottoms)) <= page.evaluate("innerHeight")
    phone = opened(browser, f"{site.url}/leagues/full/screen/", errors, viewport=PHONE)
    assert too_wide(phone) == 0
    assert errors == []


@pytest.mark.long
def test_the_screen_shows_each_unveiled_place_at_once(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, "unveiled", 4, tmp_path):
        errors: list[str] = []
        desk = browser.new_context(viewport=PROJECTOR).new_page()
        desk.goto(f"{site.url}/admin/")
        desk.fill("#id_username", "instructor")
        desk.fill("#id_password", PASSWORD)
        desk.locator("#login-form [type=submit]").click()
        desk.goto(f"{site.url}/admin/matches/league/unveiled/change/")
        desk.fill("#freeze-from", "2")
        desk.get_by_role("button", name="Freeze from this round on").click()
        insider = desk.context.new_page()
        insider.goto(f"{site.url}/leagues/unveiled/screen/?as=staff")
        expect(insider.locator("body")).to_have_attribute("data-connection", "live")
        expect(insider.locator(".tile")).to_have_count(4)

        site.post("/leagues/unveiled/start", {"auto_advance": True})
        projector = opened(browser, f"{site.url}/leagues/unveiled/screen/", errors)
        expect(insider.locator(".champion-first")).to_be_visible(timeout=60_000)
        expect(projector.locator("[data-headline]")).to_contain_text("The board is frozen after round 1")
        final = insider.locator("[data-scene=standings-1] tbody .pid").all_text_contents()
        ranks = [text.strip() for text in insider.locator("[data-scene=standings-1] tbody .c-rank").all_text_contents()]
        for place in (4, 3, 2):
            desk.goto(f"{site.url}/admin/matches/league/unveiled/change/")
            desk.locator("#do-unveil").click()
            newest = projector.locator("[data-place=newest]")
            expect(newest.locator(".c-rank")).to_have_text(ranks[place - 1])
            expect(newest.locator(".pid")).to_have_text(final[place - 1])
            expect(projector.locator("[data-headline]")).to_contain_text(
                f"Place {ranks[place - 1]}: {final[place - 1]}"
            )
            assert (shown_scene(projector), fits(projector)) == ("reveal", True)
        desk.goto(f"{site.url}/admin/matches/league/unveiled/change/")
        desk.locator("#do-unveil").click()
        expect(projector.locator("[data-scene=champion]")).to_be_visible()
        expect(projector.locator(".champion-first")).to_contain_text(f"Agent{int(final[0][1:])}")
        assert (shown_scene(projector), errors) == ("champion", [])
