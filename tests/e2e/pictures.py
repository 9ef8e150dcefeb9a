"""Screenshots of the pages, for people to look at: in ``build/screenshots``, outside the repository's history."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.e2e.site import ROOT

FOLDER = ROOT / "build" / "screenshots"
VIEWPORTS = {"phone": (390, 844), "desktop": (1280, 800), "projector": (1920, 1080)}


def shoot(page: Page, name: str) -> None:
    """Take a picture of what is on the screen now."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(FOLDER / f"{name}.png"))


def too_wide(page: Page) -> int:
    """How many pixels the page is wider than its screen: 0 if it fits.

    Waits for the stylesheets first: a page that is measured before they are loaded is laid out without them.
    """
    page.wait_for_load_state("load")
    return int(
        page.evaluate("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)")
    )
