"""Chromium for the tests, driven by Playwright. Where it is not installed a test is skipped; in CI it fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.site import PASSWORD, Instructor

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def chromium(*more: str) -> Iterator[Browser]:
    """A headless browser with a fresh profile; ``more`` are further arguments of its command line."""
    path = shutil.which("chromium")
    if path is None:
        reason = "chromium is not installed (apt-get install chromium)"
        if os.environ.get("LEAGUE_CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    # Long, because other tests may load the same machine.
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=[*ARGUMENTS, *more])
        try:
            yield browser
        finally:
            browser.close()


def collect_errors(page: Page, errors: list[str]) -> None:
    """From now on add every exception of a page's scripts, and every error on its console, to ``errors``."""
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)


def log_in(page: Page, site: Instructor) -> None:
    """Log in as the instructor; the page then shows the start page of the admin."""
    page.goto(f"{site.url}/admin/")
    page.fill("#id_username", "instructor")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(f"{site.url}/admin/")
