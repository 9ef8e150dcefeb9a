"""Fixtures of the tests with real processes: one site for the session, and one browser for each module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import chromium
from tests.e2e.capabilities import CAPABILITIES
from tests.e2e.site import Site


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse an end-to-end test that is neither ``long`` nor the one of its capability.

    Those of capabilities run first, in the order of ``CAPABILITIES``, which has the longest first.
    """
    own_folder = Path(__file__).parent
    names = Counter(
        _name(item) for item in items if item.path.parent == own_folder and not item.get_closest_marker("long")
    )
    refused = sorted(name for name, count in names.items() if count > 1 or name not in CAPABILITIES.values())
    if refused:
        raise pytest.UsageError(f"mark these tests, or their variants but one, long: {', '.join(refused)}")
    position = {name: number for number, name in enumerate(CAPABILITIES.values())}
    items.sort(key=lambda item: position.get(_name(item), len(position)))


def _name(item: pytest.Item) -> str:
    """The file and the function of a test."""
    return f"{item.path.name}::{getattr(item, 'originalname', item.name)}"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site that tests share, because starting a site takes longer than playing most leagues on it.

    A test that uses it creates leagues of its own, registers agents only for these, and does not stop the site.
    """
    site = Site(tmp_path_factory.mktemp("shared") / "data", "--no-demo")
    try:
        yield site
        assert site.stop() == 0
    finally:
        site.close()


# The scope is the module, not the session: while Playwright is open, no test with an event loop of its own can run.
@pytest.fixture(scope="module")
def opened_chromium() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def browser(opened_chromium: Browser) -> Iterator[Browser]:
    """A browser; the contexts that a test opens in it are closed when the test ends."""
    yield opened_chromium
    for context in opened_chromium.contexts:
        context.close()
