"""The way in on a real site: a student on a phone downloads the kit, runs it, checks it, and is in."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.pictures import VIEWPORTS, shoot, too_wide
from tests.e2e.site import Site, wait_for
from tests.e2e.test_every_page import violations

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
PHONE, PROJECTOR = ({"width": w, "height": h} for w, h in (VIEWPORTS["phone"], VIEWPORTS["projector"]))


def run_kit(folder: Path, *command: str) -> tuple[subprocess.Popen[str], str]:
    """Start a player of the kit; what it says when it is in."""
    process = subprocess.Popen([*command], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline()


def test_from_the_page_into_the_league(site: Site, browser: Browser, tmp_path: Path) -> None:
    kits: list[subprocess.Popen[str]] = []
    site.create("joined", max_players=2)
    try:
        phone = browser.new_context(viewport=PHONE, accept_downloads=True, locale="en").new_page()
        phone.goto(f"{site.url}/leagues/joined/join/")
        expect(phone.locator("[data-headline]")).to_have_text("Registration is open.")
        expect(phone.locator("svg.qr")).to_have_count(1)
        expect(phone.get_by_text("right on this machine only")).to_be_visible()
        assert too_wide(phone) == 0
        shoot(phone, "journey-join-phone")
        assert violations(phone) == []
        with phone.expect_download() as download:
            phone.get_by_role("link", name="Download the starter kit").click()
        zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())).extractall(tmp_path)
        folder = tmp_path / "league-kit"

        python, said = run_kit(folder, sys.executable, "player.py", "--name", "Ada", "--port", "0")
        kits.append(python)
        ready, endpoint, player_id, *_ = said.split()
        assert (ready, player_id) == ("READY", "P01")
        # The page hears of it by itself.
        expect(phone.locator("#fragment-join_state")).to_contain_text("1 of 2 places taken", timeout=10_000)

        desktop = browser.new_context(viewport=PROJECTOR, locale="en", color_scheme="dark").new_page()
        desktop.goto(f"{site.url}/leagues/joined/join/")
        shoot(desktop, "journey-join-desktop-dark")
        desktop.get_by_role("button", name="Copy Address").click()
        expect(desktop.get_by_role("button", name="Copied")).to_be_visible()
        desktop.get_by_label("Your agent's address").fill(endpoint)
        desktop.get_by_role("button", name="Check it").click()
        expect(desktop.locator("[data-headline]")).to_have_text("This agent can play here as it is.", timeout=40_000)

        if node := shutil.which("node"):
            other, said = run_kit(folder, node, "player.mjs", "--name", "Grace", "--port", "0")
            kits.append(other)
            assert said.split()[:1] == ["READY"], said
            expect(phone.locator("[data-headline]")).to_have_text("The league is full.", timeout=10_000)
            site.post("/leagues/joined/start", {"auto_advance": True})
            site.wait_until("joined", "COMPLETED")
            rows = site.get("/leagues/joined/standings")
            assert sum(row["technical_losses"] for row in rows) == 0
            wait_for("the page has heard", lambda: "closed" in phone.locator("[data-headline]").inner_text())
        phone.goto(f"{site.url}/leagues/joined/join/")
        phone.evaluate("document.documentElement.dir = 'rtl'")
        assert too_wide(phone) == 0
    finally:
        for process in kits:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
