"""Times are shown in the reader's time zone, with UTC beside them, also on Django's own pages of users."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
ZONE = "Asia/Kathmandu"
"""A zone whose offset has 45 minutes, so that its times differ from UTC and most zones in the minutes, too."""
SHOWN = re.compile(r"(\d\d:\d\d)(?::\d\d)? \((\d\d:\d\d)(?::\d\d)? UTC\)$")


def wrong_times(page: Page) -> list[str]:
    """The ``<time>`` elements whose text is not their moment, in the reader's zone and in UTC."""
    wrong = []
    for time in page.locator("time").all():
        at, text = datetime.fromisoformat(time.get_attribute("datetime") or ""), time.inner_text()
        found = SHOWN.search(text) or SHOWN.search(time.get_attribute("title") or "")
        expected = (f"{at.astimezone(ZoneInfo(ZONE)):%H:%M}", f"{at:%H:%M}")
        if found is None or found.groups() != expected:
            wrong.append(f"{page.url}: {text!r}, expected {expected}")
    return wrong


def test_times_of_the_admin_and_the_board_are_by_the_readers_clock(site: Site, browser: Browser) -> None:
    site.create("zone")
    errors: list[str] = []
    page = browser.new_context(timezone_id=ZONE, locale="en-GB").new_page()
    collect_errors(page, errors)
    log_in(page, site)
    page.goto(f"{site.url}/admin/auth/user/")
    page.get_by_role("link", name="instructor").first.click()
    user = page.url
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.locator(".readonly time")).to_have_count(2)
    wrong = wrong_times(page)
    for path, min_times in {
        user.replace("/change/", "/history/"): 1,
        f"{site.url}/admin/matches/auditentry/": 2,
        f"{site.url}/leagues/zone/": 1,
    }.items():
        page.goto(path)
        expect(page.locator("time").nth(min_times - 1)).to_be_attached()
        wrong += wrong_times(page)
    assert (wrong, errors) == ([], [])
