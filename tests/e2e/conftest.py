"""What the tests with real processes share: one site, and one browser a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import chromium
from tests.e2e.site import Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site for every test that needs none of its own: starting one costs more than most leagues played on it.

    Whoever uses it opens leagues of its own there, and neither stops it nor registers where no league is named.
    """
    site = Site(tmp_path_factory.mktemp("shared") / "data", "--no-demo")
    try:
        yield site
        assert site.stop() == 0
    finally:
        site.close()


# Of a module and not of the session: while it is open no test on an event loop of its own can run.
@pytest.fixture(scope="module")
def opened_chromium() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def browser(opened_chromium: Browser) -> Iterator[Browser]:
    """A browser; whoever looked at pages with it goes away when the test ends."""
    yield opened_chromium
    for context in opened_chromium.contexts:
        context.close()
