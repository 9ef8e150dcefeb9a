"""An instructor posts a notice, downloads everything about a league, and imports it at another site."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import log_in
from tests.e2e.pictures import FOLDER, shoot
from tests.e2e.site import Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
LEAGUE = "on_paper"
DESK = "on_5Fpaper"
"""The league's id as the admin spells it in an address."""
PHONE, PROJECTOR = {"width": 390, "height": 844}, {"width": 1920, "height": 1080}
NOTICE = "The second round begins at six"


def download(desk: Page, link: str, folder: Path) -> Path:
    """Download the file of a link; returns its path."""
    with desk.expect_download() as coming:
        desk.get_by_role("link", name=link).click()
    path = folder / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


@pytest.mark.long
def test_an_instructor_posts_a_notice_downloads_the_league_and_imports_it(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with league_with_players(site, LEAGUE, 4, tmp_path):
        site.play_to_the_end(LEAGUE)
        phone = browser.new_context(viewport=PHONE).new_page()
        phone.goto(f"{site.url}/leagues/{LEAGUE}/")
        screen = browser.new_context(viewport=PROJECTOR).new_page()
        screen.goto(f"{site.url}/leagues/{LEAGUE}/screen/")

        desk = browser.new_context(accept_downloads=True).new_page()
        log_in(desk, site)
        desk.goto(f"{site.url}/admin/matches/league/{DESK}/notices/")
        desk.fill("#id_text", NOTICE)
        desk.get_by_role("button", name="Publish").click()
        expect(phone.locator("#fragment-notices")).to_contain_text(NOTICE)
        expect(screen.locator("#fragment-screen_notice")).to_contain_text(NOTICE)
        table = phone.locator("#fragment-standings tbody tr").first.bounding_box()
        assert table is not None and table["y"] < PHONE["height"] / 2, "the words push the table out of sight"
        shoot(phone, "notice-phone")
        shoot(screen, "notice-projector")
        board = browser.new_context(viewport=PROJECTOR).new_page()
        board.goto(f"{site.url}/leagues/{LEAGUE}/")
        shoot(board, "notice-board-projector")
        shoot(desk, "notices-desk")
        desk.get_by_role("button", name="Withdraw").click()
        expect(phone.locator("#fragment-notices")).not_to_contain_text(NOTICE)

        desk.goto(f"{site.url}/admin/matches/league/{DESK}/papers/")
        shoot(desk, "papers")
        export = download(desk, "Everything, with people (ZIP)", tmp_path)
        document = download(desk, "Document with people (JSON)", tmp_path)
        with zipfile.ZipFile(export) as opened:
            assert opened.read("league.json") == document.read_bytes()
            assert f"SHARED/data/leagues/{LEAGUE}/standings.json" in opened.namelist()
        desk.get_by_role("link", name="Evidence sheets").click()
        expect(desk.locator(".sheet")).to_have_count(4)
        expect(desk.locator(".sheet").first.locator("tbody tr")).to_have_count(3)
        shoot(desk, "evidence")
        assert len(desk.pdf(path=str(FOLDER / "evidence.pdf"))) > 10_000

        check_import(site, tmp_path, export, desk)


def check_import(site: Site, folder: Path, export: Path, desk: Page) -> None:
    """Import the export at a fresh site, and check that the page says so and that table and events are the same."""
    table = site.get(f"/leagues/{LEAGUE}/standings")
    events = site.get(f"/leagues/{LEAGUE}/events")["events"]
    fresh = Site(folder / "fresh", "--no-demo", "--referees", "0")
    try:
        log_in(desk, fresh)
        desk.goto(f"{fresh.url}/admin/matches/league/import/")
        desk.set_input_files("#id_file", export)
        desk.get_by_role("button", name="Import").click()
        expect(desk.locator("body")).to_contain_text("6 matches")
        assert fresh.get(f"/leagues/{LEAGUE}/standings") == table
        assert fresh.get(f"/leagues/{LEAGUE}/events")["events"] == events
        desk.goto(f"{fresh.url}/leagues/{LEAGUE}/replay/?at=5")
        expect(desk.locator("body")).to_contain_text("Replay")
    finally:
        fresh.close()
