"""The join page on a real site: a student on a phone downloads the kit, runs it, and its player is registered."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.pictures import VIEWPORTS, shoot, too_wide
from tests.e2e.site import Site, wait_for
from tests.e2e.test_every_page import violations

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
PHONE, PROJECTOR = ({"width": w, "height": h} for w, h in (VIEWPORTS["phone"], VIEWPORTS["projector"]))


def run_kit(folder: Path, *command: str) -> tuple[subprocess.Popen[str], str]:
    """Start a player of the kit; returns its process, and the line that it prints once it is registered."""
    process = subprocess.Popen([*command], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline()


def unpack(page: Page, language: str, folder: Path) -> None:
    """Download the kit of the language whose part of the page is open, and unpack it."""
    with page.expect_download() as download:
        page.get_by_role("link", name=f"Download the starter kit (ZIP) {language}", exact=True).click()
    zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())).extractall(folder)


def test_a_student_joins_a_league_from_its_join_page(site: Site, browser: Browser, tmp_path: Path) -> None:
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
        unpack(phone, "Python", tmp_path)
        # One language at a time is open.
        phone.locator(".join-kits summary", has_text="JavaScript").click()
        expect(phone.get_by_text("python3 player.py")).to_be_hidden()
        unpack(phone, "JavaScript", tmp_path)
        assert too_wide(phone) == 0
        assert violations(phone) == []

        python, ready_line = run_kit(
            tmp_path / "league-kit-python", sys.executable, "player.py", "--name", "Ada", "--port", "0"
        )
        kits.append(python)
        ready, endpoint, player_id, *_ = ready_line.split()
        assert (ready, player_id) == ("READY", "P01")
        # The page shows it without a reload.
        expect(phone.locator("#fragment-join_state")).to_contain_text("1 of 2 places taken", timeout=10_000)
        expect(phone.locator("#arrived-P01")).to_contain_text("calls your agent at its address", timeout=10_000)
        assert too_wide(phone) == 0
        assert violations(phone) == []

        projector = browser.new_context(viewport=PROJECTOR, locale="en", color_scheme="dark").new_page()
        projector.goto(f"{site.url}/leagues/joined/join/")
        shoot(projector, "journey-join-projector-dark")
        projector.get_by_role("button", name="Copy Address").click()
        expect(projector.get_by_role("button", name="Copied")).to_be_visible()
        projector.get_by_label("Your agent's address").fill(endpoint)
        projector.get_by_role("button", name="Check it").click()
        expect(projector.locator("[data-headline]")).to_contain_text(
            "This agent can play here as it is.", timeout=40_000
        )

        if node := shutil.which("node"):
            other, ready_line = run_kit(
                tmp_path / "league-kit-javascript", node, "player.mjs", "--name", "Grace", "--port", "0"
            )
            kits.append(other)
            assert ready_line.split()[:1] == ["READY"], ready_line
            expect(phone.locator("[data-headline]")).to_have_text("The league is full.", timeout=10_000)
            site.play_to_the_end("joined")
            rows = site.get("/leagues/joined/standings")
            assert sum(row["technical_losses"] for row in rows) == 0
            wait_for(
                "the page says that registration is closed",
                lambda: "closed" in phone.locator("[data-headline]").inner_text(),
            )
        phone.goto(f"{site.url}/leagues/joined/join/")
        phone.evaluate("document.documentElement.dir = 'rtl'")
        assert too_wide(phone) == 0
    finally:
        for process in kits:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
