"""My agent on a real site: a student sees what went wrong, mends it, and sends the same request again."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site, league_with_players
from tests.e2e.test_every_page import violations
from tests.e2e.test_join_page import PHONE, PROJECTOR
from tests.e2e.undecided import undecided

pytestmark = [pytest.mark.e2e, pytest.mark.browser]


def test_a_student_sees_a_wrong_answer_mends_the_agent_and_sends_the_request_again(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with league_with_players(site, "mended", 1, tmp_path, max_retries=1, retry_base_s=0), undecided() as agent:
        register = {"display_name": "Maybe", "endpoint": agent.endpoint, "league_id": "mended"}
        token = site.http.post("/register", json=register).json()["auth_token"]
        site.play_to_the_end("mended")

        phone = browser.new_context(viewport=PHONE, locale="en").new_page()
        phone.goto(f"{site.url}/leagues/mended/mine/")
        phone.get_by_label("Your agent's auth_token").fill("tok_" + "0" * 32)
        phone.get_by_role("button", name="Open").click()
        expect(phone.get_by_role("alert")).to_contain_text("neither the auth_token")
        shoot(phone, "mine-refused-phone")
        phone.get_by_label("Your agent's auth_token").fill(token)
        phone.get_by_role("button", name="Open").click()
        expect(phone.locator(".verdict-line")).to_have_text("The league is over")
        assert token not in phone.content() and token not in phone.url
        assert too_wide(phone) == 0
        shoot(phone, "mine-opened-phone")
        assert violations(phone) == []

        projector = phone.context.new_page()
        projector.set_viewport_size(PROJECTOR)
        projector.goto(f"{site.url}/leagues/mended/mine/")
        wrong = projector.locator('.exchange[data-mark="wrong"]').first
        expect(wrong.locator(".x-name")).to_have_text("CHOOSE_PARITY_CALL")
        expect(wrong.locator('tr[data-mark="wrong"]').filter(has_text="parity_choice")).to_contain_text("maybe")
        expect(wrong.locator(".x-line").first).to_contain_text("POST /mcp")
        shoot(projector, "mine-opened-projector")

        agent.seen.clear()
        wrong.get_by_role("button", name="Send it again now").click()
        expect(projector.locator("#trial strong")).to_have_text(
            "Not a legal move: the referee would refuse it.", timeout=10_000
        )
        [sent] = agent.seen
        assert sent["params"]["conversation_id"].startswith("trial-")
        assert sent["params"]["auth_token"] == "tok_trial"
        agent.choice = "odd"
        projector.locator('.exchange[data-mark="wrong"]').first.get_by_role("button", name="Send it again now").click()
        expect(projector.locator("#trial strong")).to_have_text(
            "A legal move: the referee would take it.", timeout=10_000
        )
        projector.emulate_media(color_scheme="dark")
        shoot(projector, "mine-trial-projector-dark")
        assert violations(projector) == []
        projector.evaluate("document.documentElement.dir = 'rtl'")
        assert violations(projector) == []
        assert too_wide(projector) == 0
        # Trials do not count: the standings are unchanged.
        rows = {row["player_id"]: row["points"] for row in site.get("/leagues/mended/standings")}
        assert rows == {"P01": 3, "P02": 0}

        projector.get_by_role("button", name="Close").click()
        expect(projector.get_by_label("Your agent's auth_token")).to_be_visible()
        phone.reload()
        expect(phone.get_by_label("Your agent's auth_token")).to_be_visible()
