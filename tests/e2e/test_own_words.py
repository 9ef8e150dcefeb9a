"""An agent that fails says why in its own words: its owner and the staff see them first, and nobody else sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.bots.scripted import Result, listening
from tests.e2e.browser import log_in
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site, league_with_players
from tests.e2e.test_every_page import violations
from tests.e2e.test_join_page import PHONE, PROJECTOR

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
WORDS = "KeyError: 'deadline'"


def broken(body: Any) -> Result:
    """An agent that joins every match, and whose tool for choosing raises an exception."""
    method = body.get("method") if isinstance(body, dict) else None
    if method == "handle_game_invitation":
        return {"message_type": "GAME_JOIN_ACK", "accept": True}
    if method in ("notify_match_result", "notify_round"):
        return {"status": "ok"}
    return {"isError": True, "content": [{"type": "text", "text": f"\x1b[31m{WORDS}\x1b[0m"}]}


def test_an_agents_own_words_come_first_for_its_owner_and_the_staff(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with league_with_players(site, "words", 1, tmp_path, max_retries=0) as players, listening(broken) as agent:
        register = {"display_name": "Broken", "endpoint": agent.endpoint, "league_id": "words"}
        token = site.http.post("/register", json=register).json()["auth_token"]
        site.play_to_the_end("words")

        public_match = site.get("/leagues/words/matches/R1M1")
        assert public_match["status"] == "TECHNICAL_LOSS"
        assert WORDS not in str(public_match)
        staff_match = site.get("/leagues/words/matches/R1M1?as=staff")
        assert staff_match["result"]["said"] == {"P02": WORDS}
        assert WORDS not in str(players[0].messages())

        phone = browser.new_context(viewport=PHONE, locale="en").new_page()
        phone.goto(f"{site.url}/leagues/words/matches/R1M1/")
        expect(phone.locator(".verdict")).to_contain_text("technical loss")
        assert WORDS not in phone.content()

        phone.goto(f"{site.url}/leagues/words/mine/")
        phone.get_by_label("Your agent's auth_token").fill(token)
        phone.get_by_role("button", name="Open").click()
        reasons = phone.locator(".match-list .m-fault")
        expect(reasons.first).to_have_text(f"your agent said: {WORDS}")
        expect(reasons.nth(1)).to_contain_text("P02 gave no valid answer to CHOOSE_PARITY_CALL")
        expect(phone.locator("[data-place]")).to_contain_text("Place 2 of 2")
        wrong = phone.locator('.exchange[data-mark="wrong"]').first
        expect(wrong.locator(".own-words")).to_have_text(f"Your agent said: {WORDS}")
        expect(wrong.locator(".x-tries").first).to_be_hidden()
        assert too_wide(phone) == 0
        assert violations(phone) == []
        shoot(phone, "own-words-phone")
        phone.set_viewport_size(PROJECTOR)
        phone.emulate_media(color_scheme="dark")
        shoot(phone, "own-words-projector-dark")

        desk = browser.new_context(viewport=PROJECTOR, locale="he").new_page()
        log_in(desk, site)
        desk.goto(f"{site.url}/leagues/words/matches/R1M1/?as=staff")
        expect(desk.locator(".verdict .own-words")).to_contain_text(WORDS)
        expect(desk.locator(".box > .own-words q").first).to_have_text(WORDS)
        assert (too_wide(desk), violations(desk)) == (0, [])
        shoot(desk, "own-words-staff-he")
