"""An instructor ticks rows of a list, reads what an action would do to each, and confirms it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import log_in
from tests.e2e.pictures import too_wide
from tests.e2e.site import Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]


def choose(page: Page, action: str) -> None:
    """Choose an action for the ticked rows, and click the button beside it."""
    page.select_option("select[name=action]", action)
    page.click("#changelist-form button[name=index]")


def test_revoking_tokens_of_ticked_agents_asks_first(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, "ticked", 3, tmp_path):
        page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
        log_in(page, site)
        page.goto(f"{site.url}/admin/agents_registry/agent/?kind__exact=player&q=Agent&league__league_id__exact=ticked")
        for name in ("P01", "P03"):
            page.get_by_role("row", name=name).locator("input.action-select").check()
        choose(page, "revoke_tokens")
        rows = page.locator(".desk-ticked > li")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("What it sends with its tokens is refused until it has registered again.")
        assert too_wide(page) == 0
        page.get_by_role("button", name="Confirm: Revoke all tokens").click()
        expect(page.locator(".messagelist")).to_contain_text("They have to register again to send anything.")
