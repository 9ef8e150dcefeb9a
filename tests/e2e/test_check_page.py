"""The check's page on a real site: without a reload it shows that a player passes, or which clause it fails."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.site import Site, league_with_players, wait_for
from tests.e2e.undecided import undecided

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

PATIENCE_MS = 90_000
"""For a check: a wrong agent is asked several times, and a busy machine is slow."""


def test_a_player_passes_the_check_and_a_wrong_agent_is_told_why(site: Site, browser: Browser, tmp_path: Path) -> None:
    with league_with_players(site, "checked", 1, tmp_path, require_check=True) as [player]:
        with undecided() as agent:
            page = browser.new_context().new_page()
            page.goto(f"{site.url}/check")
            page.fill("#id_endpoint", player.endpoint)
            page.get_by_role("button", name="Check it").click()
            headline = page.locator("[data-headline]")
            expect(headline).to_contain_text("This agent can play here as it is.", timeout=PATIENCE_MS)
            report_url = page.url
            expect(page.locator("#clause-choice\\.legal")).to_have_attribute("data-verdict", "conforms")

            page.goto(f"{site.url}/check")
            page.fill("#id_endpoint", agent.address)
            page.get_by_role("button", name="Check it").click()
            expect(headline).to_contain_text("This agent cannot play here yet.", timeout=PATIENCE_MS)
            expect(page.locator(".next-step")).to_contain_text("maybe")
            expect(page.locator("#clause-choice\\.legal")).to_have_attribute("data-verdict", "fails")
            page.locator("#clause-choice\\.legal summary").click()
            expect(page.locator("#clause-choice\\.legal")).to_contain_text('"parity_choice": "maybe"')

        saved = site.http.get(f"{report_url}.json").json()
        assert (saved["state"], saved["passed"], saved["report"]["role"]) == ("DONE", True, "player")
        assert [token for token in player.secrets() if token in json.dumps(saved)] == []

        def shown_readiness() -> list[str]:
            return re.findall(r'data-ready="(\w+)"', site.http.get("/leagues/checked/").text)

        wait_for("the league shows that the player passed", lambda: shown_readiness() == ["ready"])


@pytest.mark.long
def test_a_league_that_requires_a_check_starts_it_by_itself(site: Site, tmp_path: Path) -> None:
    with league_with_players(site, "demanding", 2, tmp_path, require_check=True):
        with undecided() as agent:
            register = {"display_name": "Maybe", "endpoint": agent.endpoint, "league_id": "demanding"}
            assert site.http.post("/register", json=register).status_code == 200

            def shown_readiness() -> list[str]:
                return re.findall(r'data-ready="(\w+)"', site.http.get("/leagues/demanding/").text)

            wait_for("all have been checked", lambda: shown_readiness() == ["ready", "ready", "wrong_answers"])
            league = site.play_to_the_end("demanding")
        assert (league["players"], league["matches"], league["matches_done"]) == (2, 1, 1)
        assert [row["player_id"] for row in site.get("/leagues/demanding/standings")] in (
            ["P01", "P02"],
            ["P02", "P01"],
        )
        assert "Not in the schedule" in site.http.get("/leagues/demanding/").text
