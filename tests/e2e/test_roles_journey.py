"""A superuser makes an account, gives it a role, and takes it away: what its owner sees changes with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.pictures import VIEWPORTS, shoot
from tests.e2e.site import PASSWORD, Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
DESK = "/admin/matches/league/roles/change/"
HELPER = "dana"


def logged_in(browser: Browser, site: Site, name: str, viewport: str) -> Page:
    """The start page of the admin, with a user logged in, in a browser context of its own."""
    width, height = VIEWPORTS[viewport]
    page = browser.new_context(viewport={"width": width, "height": height}, locale="en-GB").new_page()
    page.goto(f"{site.url}/admin/")
    page.fill("#id_username", name)
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(f"{site.url}/admin/")
    return page


def make_account(page: Page, site: Site) -> None:
    """Make an account of a member of the staff without any permission."""
    page.goto(f"{site.url}/admin/auth/user/add/")
    page.fill("#id_username", HELPER)
    page.fill("#id_password1", PASSWORD)
    page.fill("#id_password2", PASSWORD)
    page.press("#id_password2", "Enter")
    expect(page.locator("#id_is_staff")).to_be_attached()
    page.locator("#id_is_staff").check()
    page.locator("[name=_save]").first.click()
    page.wait_for_url(f"{site.url}/admin/auth/user/")


def http_status(page: Page, path: str) -> int:
    answer = page.goto(path)
    assert answer is not None
    return answer.status


def test_an_assistant_sees_the_desk_only_while_having_the_role(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, "roles", 2, tmp_path):
        chief = logged_in(browser, site, "instructor", "desktop")
        make_account(chief, site)
        helper = logged_in(browser, site, HELPER, "phone")
        assert http_status(helper, f"{site.url}{DESK}") == 403

        chief.goto(f"{site.url}/admin/matches/league/roles/people/")
        chief.fill("#id_username", HELPER)
        chief.select_option("[name=name]", "assistant")
        chief.get_by_role("button", name="Give this role").click()
        expect(chief.locator("table")).to_contain_text(HELPER)

        assert http_status(helper, f"{site.url}{DESK}") == 200
        expect(helper.get_by_role("button", name="Ask all agents whether they answer")).to_be_visible()
        expect(helper.get_by_role("button", name="Start round 1")).to_have_count(0)
        for viewport in ("phone", "projector"):
            width, height = VIEWPORTS[viewport]
            helper.set_viewport_size({"width": width, "height": height})
            shoot(helper, f"desk-assistant-{viewport}")
        assert http_status(helper, f"{site.url}/admin/matches/league/roles/people/") == 403

        chief.get_by_role("button", name="Take this role away").click()
        assert http_status(helper, f"{site.url}{DESK}") == 403
