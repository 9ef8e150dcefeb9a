"""A series at the desk: a league is played, cloned for the next evening, the clone is played, the first is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import chromium, collect_errors, log_in
from tests.e2e.pictures import VIEWPORTS, shoot, too_wide
from tests.e2e.site import Player, Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(300)]
FIRST, SECOND = "first-evening", "second_evening"
SEASON = f"/admin/matches/league/{FIRST}/season/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def check_page_fits(browser: Browser, site: Site, path: str, name: str) -> None:
    """Check that a public page fits on a phone, a desktop and a projector, also in Hebrew and dark."""
    for scheme, language, viewport in (
        ("light", "en", "desktop"),
        ("dark", "he", "phone"),
        ("light", "he", "projector"),
    ):
        width, height = VIEWPORTS[viewport]
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})  # type: ignore[arg-type]
        context.add_cookies([{"name": "django_language", "value": language, "url": site.url}])
        page = context.new_page()
        page.goto(site.url + path)
        assert too_wide(page) == 0
        shoot(page, f"{name}-{viewport}-{scheme}-{language}")
        context.close()


def clone(desk: Page, site: Site) -> None:
    """Put the league into a series, and open the next evening like it."""
    desk.goto(site.url + SEASON)
    desk.get_by_label("Id of the series").fill("course")
    desk.get_by_label("Its name, if it is new").fill("Agents, winter term")
    desk.get_by_role("button", name="Put it into this series").click()
    expect(desk.get_by_role("link", name="Agents, winter term")).to_be_visible()
    desk.get_by_label("Name of the new league").fill("Second evening")
    shoot(desk, "season-desk")
    desk.get_by_role("button", name="Open the new league").click()
    desk.wait_for_url(f"**/{SECOND.replace('_', '_5F')}/change/")


def test_two_evenings_have_one_table_and_what_is_deleted_is_gone(site: Site, browser: Browser, tmp_path: Path) -> None:
    errors: list[str] = []
    with league_with_players(site, FIRST, 3, tmp_path):
        site.play_to_the_end(FIRST)
    desk = browser.new_page()
    collect_errors(desk, errors)
    log_in(desk, site)
    clone(desk, site)
    # A clone takes no agent along: they register again.
    again = [Player(site, f"Agent{number}", tmp_path, "--league-id", SECOND) for number in (1, 2, 4)]
    try:
        site.play_to_the_end(SECOND)
    finally:
        for player in again:
            player.close()
    series = site.get("/series/course")
    assert [one["league_id"] for one in series["evenings"]] == [FIRST, SECOND]
    points = {
        league: {row["display_name"]: row["points"] for row in site.get(f"/leagues/{league}/standings")}
        for league in (FIRST, SECOND)
    }
    assert {row["display_name"]: row["points"] for row in series["standings"]} == {
        name: points[FIRST].get(name, 0) + points[SECOND].get(name, 0)
        for name in ("Agent1", "Agent2", "Agent3", "Agent4")
    }
    check_page_fits(browser, site, "/series/course", "series")

    desk.goto(f"{site.url}/admin/matches/league/{FIRST}/change/")
    desk.get_by_role("button", name="Archive", exact=True).click()
    expect(desk.get_by_role("button", name="Take out of the archive")).to_be_visible()
    assert FIRST not in [one["league_id"] for one in site.get("/leagues")]
    shared = site.data / "SHARED" / "data" / "leagues" / FIRST
    wait_for("SHARED has the league", shared.exists)
    desk.goto(site.url + SEASON)
    desk.get_by_label("Type the id of the league").fill(FIRST)
    desk.get_by_role("button", name="Delete this league for good").click()
    expect(desk.get_by_text("The league is deleted.")).to_be_visible()
    assert site.http.get(f"/leagues/{FIRST}/").status_code == 404
    assert [one["league_id"] for one in site.get("/series/course")["evenings"]] == [SECOND]
    wait_for("SHARED has it no more", lambda: not shared.exists())
    assert errors == []
