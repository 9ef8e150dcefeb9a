"""The Content-Security-Policy in a real browser: no page needs anything that the policy forbids."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e import test_every_page as every_page
from tests.e2e.site import Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(300)]
# One page of each kind. (test_every_page.py opens all pages, but without the policy.)
PAGES = [
    *(
        every_page.PUBLIC[name]
        for name in ("index", "board", "charts", "match", "player", "screen", "replay", "embed", "join")
    ),
    *(every_page.PUBLIC[name] for name in ("mine-closed", "check", "nothing")),
    *(
        every_page.DESK[name]
        for name in ("admin", "desk", "new-league", "correct", "people", "papers", "roster", "agents")
    ),
    "/api/docs",
]
REPORT_VIOLATIONS_JS = (
    "addEventListener('securitypolicyviolation', e => console.error('POLICY', e.violatedDirective, e.blockedURI))"
)

INJECT_SCRIPTS_JS = """() => {
    document.body.insertAdjacentHTML('beforeend', '<b onclick="window.injected = 1">x</b>');
    document.body.lastElementChild.click();
    const script = document.createElement('script');
    script.text = 'window.injected = 1';
    document.body.append(script);
}"""


@pytest.fixture(scope="module", autouse=True)
def leagues(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the leagues of the addresses in ``PAGES``."""
    with league_with_players(site, every_page.PLAYED, 2, tmp_path_factory.mktemp("policy"), "--choice", "alternate"):
        site.play_to_the_end(every_page.PLAYED)
    site.create(every_page.OPEN)


def open_page(browser: Browser, wrong: list[str]) -> Page:
    """A fresh page that adds to ``wrong`` whatever the policy blocks, and each error of a script."""
    page = browser.new_context().new_page()
    page.add_init_script(REPORT_VIOLATIONS_JS)
    signs = ("POLICY", "Content Security Policy", "Content-Security-Policy")
    page.on(
        "console",
        lambda one: wrong.append(f"{page.url}: {one.text}") if any(word in one.text for word in signs) else None,
    )
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    return page


@pytest.mark.long
def test_no_page_does_what_the_policy_forbids(site: Site, browser: Browser) -> None:
    wrong: list[str] = []
    page = open_page(browser, wrong)
    every_page.log_in(page, site)
    for path in PAGES:
        page.goto(site.url + path)
        page.wait_for_load_state("load")
    assert wrong == []


def test_the_board_is_live_and_the_policy_blocks_injected_scripts(site: Site, browser: Browser) -> None:
    wrong: list[str] = []
    page = open_page(browser, wrong)
    page.goto(f"{site.url}/leagues/{every_page.OPEN}/")
    page.wait_for_selector("body[data-connection=live]")
    # A script that an attacker injects into the page does not run.
    page.evaluate(INJECT_SCRIPTS_JS)
    assert page.evaluate("window.injected") is None
    assert [line for line in wrong if "POLICY" in line and "script-src" in line] != []


class OtherSite(BaseHTTPRequestHandler):
    """Another site, which shows a page of ours in a frame: the page that the path names."""

    def do_GET(self) -> None:
        content = f"<iframe src='http://{self.path[1:]}'></iframe>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@pytest.mark.long
def test_another_site_may_frame_the_embedded_table_and_not_the_board(site: Site, browser: Browser) -> None:
    page = browser.new_context().new_page()
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as server:
        threading.Thread(target=server.serve_forever).start()
        outside = f"http://127.0.0.1:{server.server_port}"
        frames = []
        for path in ("embed/", ""):
            page.goto(f"{outside}/127.0.0.1:{site.port}/leagues/{every_page.PLAYED}/{path}")
            frames.append(page.frames[1].url)
        server.shutdown()
    assert frames == [f"{site.url}/leagues/{every_page.PLAYED}/embed/", "chrome-error://chromewebdata/"]
