"""The end of a league on a real site: unveiled place by place with the projector open, then the page to share."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.pictures import too_wide
from tests.e2e.site import Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
PROJECTOR = {"width": 1920, "height": 1080}
LEAGUE = "finale"
MOVING = """document.getAnimations().filter((one) => one.playState === "running" && one.effect.target.closest(".stage")
  && one.effect.getKeyframes().some((frame) => "transform" in frame || "opacity" in frame)).length"""


def projector(site: Site, browser: Browser, errors: list[str], **options: object) -> Page:
    """The projector page in a browser of its own."""
    page = browser.new_context(viewport=PROJECTOR, **options).new_page()  # type: ignore[arg-type]
    collect_errors(page, errors)
    page.goto(f"{site.url}/leagues/{LEAGUE}/screen/")
    expect(page.locator("body")).to_have_attribute("data-connection", "live")
    return page


def moves(page: Page) -> bool:
    """Whether anything on the stage moves now; the tint of changed numbers does not count as motion."""
    return bool(page.evaluate(MOVING))


def unveil(desk: Page, site: Site) -> None:
    """One click of the instructor."""
    desk.goto(f"{site.url}/admin/matches/league/{LEAGUE}/change/")
    desk.locator("#do-unveil").click()


def test_an_evening_ends_with_an_unveiling_and_a_page_to_share(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, LEAGUE, 4, tmp_path):
        errors: list[str] = []
        desk = browser.new_context(viewport=PROJECTOR).new_page()
        log_in(desk, site)
        desk.goto(f"{site.url}/admin/matches/league/{LEAGUE}/change/")
        desk.fill("#freeze-from", "2")
        desk.get_by_role("button", name="Freeze from this round on").click()
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        moving = projector(site, browser, errors)
        still = projector(site, browser, errors, reduced_motion="reduce")
        site.wait_until(LEAGUE, "RUNNING")
        phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
        collect_errors(phone, errors)
        desk.goto(f"{site.url}/admin/matches/league/{LEAGUE}/change/")
        expect(desk.locator("#do-unveil")).to_be_visible(timeout=60_000)

        for place in (4, 3, 2, 1):
            assert site.http.get(f"{site.url}/leagues/{LEAGUE}/story/").status_code == 404
            assert site.http.get(f"{site.url}/leagues/{LEAGUE}/story/picture.png").status_code == 404
            unveil(desk, site)
            for page in (moving, still):
                shown = f"[data-scene=reveal][data-left='{place - 1}']" if place > 1 else "[data-scene=champion]"
                expect(page.locator(shown)).to_have_count(1)
            assert not moves(still)
            if place < 4:
                # The first three places are unveiled with a motion; any key skips it, and does nothing else.
                assert moves(moving)
                moving.keyboard.press("PageDown")
                wait_for("nothing moves any more", lambda: not moves(moving), patience_s=1.5)
                expect(moving.locator("[data-shown]")).to_have_attribute(
                    "data-scene", "reveal" if place > 1 else "champion"
                )

        seen = []
        for _ in range(6):
            seen.append(str(moving.locator("[data-shown]").get_attribute("data-scene")))
            assert moving.evaluate("document.documentElement.scrollHeight <= innerHeight")
            moving.keyboard.press("PageDown")
        # Champions who share the first place have a path each.
        assert list(dict.fromkeys(scene.partition("-")[0] for scene in seen))[:4] == [
            "champion",
            "podium",
            "path",
            "figures",
        ]

        phone.goto(f"{site.url}/leagues/{LEAGUE}/")
        phone.get_by_role("link", name="Podium, path and figures on one page to share").click()
        expect(phone).to_have_url(f"{site.url}/leagues/{LEAGUE}/story/")
        expect(phone.locator(".podium .step")).to_have_count(3)
        expect(phone.locator("[data-figure=fastest]")).to_be_visible()
        assert too_wide(phone) == 0
        image = phone.locator("meta[property='og:image']").get_attribute("content")
        assert image is not None
        assert image.startswith(f"{site.url}/leagues/{LEAGUE}/story/picture.png")
        assert site.http.get(image).headers["Content-Type"] == "image/png"
        with phone.expect_download() as download:
            phone.get_by_role("link", name="Download this page as one file").click()
        saved = tmp_path / "league.html"
        download.value.save_as(saved)
        alone = browser.new_context(offline=True, java_script_enabled=False).new_page()
        alone.goto(saved.as_uri())
        expect(alone.locator(".podium .step")).to_have_count(3)
        assert "://" not in saved.read_text(encoding="utf-8")
        assert errors == []
