"""Very long and unusual names, on pages of the site and the desk: nothing is wider than the screen, nothing is cut off
without a sign of it. And the cross table is one stop of the tab key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.hostile_names import CROWD, PLAYED, STARTED, TILES, WAITING, cut_off, named_players
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site
from tests.e2e.test_every_page import violations

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
SCREENS = {390: 844, 1366: 768, 1920: 1080}
PAGES = {
    "index": "/",
    "board-waiting": f"/leagues/{WAITING}/",
    "board-started": f"/leagues/{STARTED}/",
    "board": f"/leagues/{PLAYED}/",
    "charts": f"/leagues/{PLAYED}/charts/",
    "match": f"/leagues/{PLAYED}/matches/R1M1/",
    "player": f"/leagues/{PLAYED}/players/P01/",
    "player-unseen": f"/leagues/{PLAYED}/players/P05/",
    "screen-wall": f"/leagues/{WAITING}/screen/",
    "screen-started": f"/leagues/{STARTED}/screen/",
    "screen": f"/leagues/{PLAYED}/screen/",
    "replay": f"/leagues/{PLAYED}/replay/",
    "embed": f"/leagues/{PLAYED}/embed/",
    "join": f"/leagues/{WAITING}/join/",
    "mine": f"/leagues/{WAITING}/mine/",
}
DESK = {
    "home": "/admin/",
    "leagues": "/admin/matches/league/",
    "desk-waiting": f"/admin/matches/league/{WAITING}/change/",
    "desk-started": f"/admin/matches/league/{STARTED}/change/",
    "settings": f"/admin/matches/league/{PLAYED}/settings/",
    "corrections": f"/admin/matches/league/{PLAYED}/corrections/",
    "correct": f"/admin/matches/league/{PLAYED}/correct/?kind=set_result&match=R1M1",
    "people": f"/admin/matches/league/{PLAYED}/people/",
    "papers": f"/admin/matches/league/{PLAYED}/papers/",
    "evidence": f"/admin/matches/league/{PLAYED}/papers/evidence/",
    "notices": f"/admin/matches/league/{PLAYED}/notices/",
    "roster": f"/admin/matches/league/{WAITING}/roster/",
    "matches": "/admin/matches/match/",
    "agents": "/admin/agents_registry/agent/",
    "agent": "/admin/agents_registry/agent/1/change/",
}


@pytest.fixture(scope="module")
def named_site(site: Site) -> Iterator[Site]:
    with named_players(site):
        yield site


def instructor(browser: Browser, site: Site, errors: list[str], **how: object) -> Page:
    """A page of somebody who may open all pages; the errors of its scripts and console are added to ``errors``."""
    page = browser.new_context(reduced_motion="reduce", bypass_csp=True, **how).new_page()  # type: ignore[arg-type]
    collect_errors(page, errors)
    log_in(page, site)
    return page


def wrong_on(page: Page, where: str) -> list[str]:
    """The elements that do not fit on the open page."""
    wide = too_wide(page)
    too_wide_by = [f"{wide} px too wide"] if wide else []
    return [f"{where}: {one}" for one in too_wide_by + cut_off(page)]


def test_no_name_breaks_a_page_on_a_phone(named_site: Site, browser: Browser) -> None:
    errors: list[str] = []
    page = instructor(browser, named_site, errors, viewport={"width": 390, "height": SCREENS[390]})
    wrong = []
    for name, path in (PAGES | DESK).items():
        page.goto(named_site.url + path)
        wrong += wrong_on(page, name)
    assert (wrong, errors) == ([], []), "\n".join(wrong)


OUTSIDE = """[...document.querySelectorAll('.tile *')].filter((one) => one.getBoundingClientRect().bottom
  > Math.min(innerHeight, one.closest('.tile').getBoundingClientRect().bottom) + 1).map((one) => one.innerText)"""
CROWDED = """for (const tile of document.querySelectorAll('.tile-what')) tile.append(' Start it; check it,'.repeat(6));
  const counts = document.querySelector('.wall-counts'), one = counts.firstElementChild;
  for (let n = 0; n < 9; n += 1) counts.append(one.cloneNode(true));"""
FULL = "document.querySelector('.tile-what').innerText.includes('Start it') && counts.children.length > 9"
"""Whether ``CROWDED`` took effect: more text in the tiles than fits, and more counts above them."""


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1366, 768), (1920, 1080)])
@pytest.mark.parametrize(("league", "tiles"), [(WAITING, TILES), (CROWD, 100)])
def test_the_tiles_of_the_wall_are_whole(
    named_site: Site, browser: Browser, league: str, tiles: int, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(f"{named_site.url}/leagues/{league}/screen/")
    expect(page.locator(".tile")).to_have_count(tiles)
    assert (page.evaluate(OUTSIDE), cut_off(page), too_wide(page)) == ([], [], 0)
    shoot(page, f"names-wall-{tiles}-{width}")
    # In one call, because the page restores its own text at the next frame from the site.
    assert page.evaluate(f"(() => {{ {CROWDED}\n return [{OUTSIDE}, {FULL}]; }})()") == [[], True]
    context.close()


def test_the_cross_table_is_one_tab_stop_and_arrows_move_within_it(named_site: Site, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{named_site.url}/leagues/{PLAYED}/charts/")
    expect(page.locator(".cross")).to_have_attribute("role", "grid")
    links, stops = page.locator(".cross a"), page.locator(".cross a[tabindex='0']")
    assert (links.count(), stops.count()) == (5 + 5 * 4, 1)
    stops.focus()
    page.keyboard.press("ArrowRight")
    # The first cell of the first row is a player against itself and has no link: the arrow skips it.
    first = page.locator(".cross tbody tr").first.locator("td").nth(1).locator("a")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    last = page.locator(".cross tbody tr").nth(2).locator("a").last
    expect(last).to_be_focused()
    assert stops.count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.cross')") is None
    page.keyboard.press("Shift+Tab")
    expect(last).to_be_focused()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "he")])
def test_no_name_breaks_a_page_anywhere(named_site: Site, browser: Browser, scheme: str, language: str) -> None:
    errors: list[str] = []
    page = instructor(browser, named_site, errors, color_scheme=scheme)
    page.context.add_cookies([{"name": "django_language", "value": language, "url": named_site.url}])
    wrong = []
    for name, path in (PAGES | DESK).items():
        for width, height in SCREENS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.goto(named_site.url + path)
            page.wait_for_load_state("networkidle")
            shoot(page, f"names-{name}-{width}-{scheme}-{language}")
            wrong += wrong_on(page, f"{name} at {width} px")
            wrong += [f"{name} at {width} px: {one}" for one in violations(page)]
    assert (wrong, errors) == ([], []), "\n".join(wrong)
