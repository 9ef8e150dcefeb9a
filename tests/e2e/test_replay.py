"""A finished league is replayed from its first event to the end, on a phone and on a projector; a moment is shared as
a link; another site's page shows the table live."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
LEAGUE = "replayed"
REPLAY = f"/leagues/{LEAGUE}/replay/"
VIEWPORTS: dict[str, dict[str, Any]] = {
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "projector": {"viewport": {"width": 1920, "height": 1080}},
}


@pytest.fixture(scope="module")
def played(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The site, on which four players have played their league to its end."""
    with league_with_players(site, LEAGUE, 4, tmp_path_factory.mktemp("replay")):
        site.play_to_the_end(LEAGUE)
    return site


def opened(browser: Browser, address: str, errors: list[str], **context_options: Any) -> Page:
    """A page in a fresh browser context, once its script has started."""
    page = browser.new_context(**context_options).new_page()
    collect_errors(page, errors)
    page.goto(address)
    expect(page.locator("[data-replay][data-ready]")).to_have_count(1)
    return page


def table(page: Page) -> str:
    return page.locator("#fragment-standings tbody").inner_text()


@pytest.mark.parametrize("screen", ["phone", pytest.param("projector", marks=pytest.mark.long)])
def test_a_league_is_replayed_from_its_first_event_to_the_end(played: Site, browser: Browser, screen: str) -> None:
    errors: list[str] = []
    page = opened(browser, f"{played.url}{REPLAY}", errors, **VIEWPORTS[screen])
    event, rows = page.locator("#fragment-replay_event"), page.locator("#fragment-standings tbody tr")
    final = table(page)
    expect(event).to_contain_text("The league is over. Champion")
    page.evaluate("window.sameDocument = true")

    page.keyboard.press("Home")
    expect(event).to_contain_text("The league was opened.")
    expect(rows).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(event).to_contain_text("P01 Agent1 registered.")
    expect(rows).to_have_count(1)
    tap = "tap" if VIEWPORTS[screen].get("has_touch") else "click"
    getattr(page.locator("[data-replay-step='next-round']"), tap)()
    expect(event).to_contain_text("Round 1 started.")
    expect(page.locator("#fragment-header")).to_contain_text("Round 1 of 3")
    getattr(page.locator("[data-replay-step=next]"), tap)()
    expect(event).to_contain_text("The matches of round 1 may begin.")
    page.keyboard.press("Shift+ArrowRight")
    expect(event).to_contain_text("Round 2 started.")
    shoot(page, f"replay-{screen}")
    assert [row["played"] for row in played.get(f"/leagues/{LEAGUE}/standings")] == [3, 3, 3, 3]
    expect(rows.first).to_contain_text("P0")

    page.locator(".replay-speed select").select_option("64")
    page.locator("#content").press("Space")
    expect(event).to_contain_text("The league is over. Champion")
    expect(page.locator("[data-playing]")).to_have_count(0)
    assert table(page) == final
    assert page.evaluate("window.sameDocument") is True, "the page was reloaded"
    assert too_wide(page) == 0, "the page is wider than its screen"
    assert errors == []


@pytest.mark.long
def test_a_tap_on_the_slider_shows_that_moment(played: Site, browser: Browser) -> None:
    errors: list[str] = []
    page = opened(browser, f"{played.url}{REPLAY}", errors, **VIEWPORTS["phone"])
    slider = page.locator(".replay-range")
    box = slider.bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + 10, box["y"] + box["height"] / 2)
    expect(page.locator("#fragment-replay_event")).to_contain_text("The league was opened.")
    expect(slider).to_have_attribute("aria-valuetext", "The league was opened.")
    assert errors == []


@pytest.mark.long
def test_a_moment_is_a_link_that_needs_no_script(played: Site, browser: Browser) -> None:
    errors: list[str] = []
    page = opened(browser, f"{played.url}{REPLAY}?at=9", errors)
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"\?at=10$"))
    text, shown = page.locator("#fragment-replay_event strong").inner_text(), table(page)

    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(page.url)
    assert (plain.locator("#fragment-replay_event strong").inner_text(), table(plain)) == (text, shown)
    plain.locator("[data-replay-step=before]").click()
    expect(plain).to_have_url(re.compile(r"\?at=9$"))
    plain.get_by_role("button", name="Show").click()
    expect(plain).to_have_url(re.compile(r"\?at=9$"))
    assert errors == []


@pytest.mark.long
def test_the_page_says_that_the_site_does_not_answer_and_goes_on_later(played: Site, browser: Browser) -> None:
    page = opened(browser, f"{played.url}{REPLAY}", [])
    page.route("**/fragments/**", lambda route: route.abort())
    page.keyboard.press("Home")
    expect(page.locator("[data-replay-problem]")).to_have_text("The site does not answer. Move on to try again.")
    expect(page.locator(".replay-range")).to_have_value(str(len(played.get(f"/leagues/{LEAGUE}/events")["events"])))
    page.unroute("**/fragments/**")
    page.keyboard.press("Home")
    expect(page.locator("#fragment-replay_event")).to_contain_text("The league was opened.")
    expect(page.locator("[data-replay-problem]")).to_have_text("")


@pytest.mark.long
def test_the_table_is_live_in_a_frame_of_another_sites_page(played: Site, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "blog.html").write_text(
        f'<iframe src="{played.url}/leagues/{LEAGUE}/embed/?theme=dark" width="640" height="480"></iframe>'
    )
    page = browser.new_context().new_page()
    page.goto((tmp_path / "blog.html").as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("tbody tr")).to_have_count(4)
    expect(frame.locator("[data-light]")).to_have_attribute("data-state", "live")
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    expect(frame.locator("nav")).to_have_count(0)
    shoot(page, "embed")
