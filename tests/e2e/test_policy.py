"""The Content-Security-Policy in a real browser: every page does what it does without anything the policy forbids."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e import test_every_page as every
from tests.e2e.site import Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(300)]
# One of every make; test_every_page.py, which takes long, looks at all of them.
PAGES = [
    *(
        every.PUBLIC[name]
        for name in ("index", "board", "charts", "match", "player", "screen", "replay", "embed", "join")
    ),
    *(every.PUBLIC[name] for name in ("mine-closed", "check", "nothing")),
    *(every.DESK[name] for name in ("admin", "desk", "new-league", "correct", "people", "papers", "roster", "agents")),
    "/api/docs",
]
REPORT = "addEventListener('securitypolicyviolation', e => console.error('POLICY', e.violatedDirective, e.blockedURI))"

SMUGGLING = """() => {
    document.body.insertAdjacentHTML('beforeend', '<b onclick="window.smuggled = 1">x</b>');
    document.body.lastElementChild.click();
    const script = document.createElement('script');
    script.text = 'window.smuggled = 1';
    document.body.append(script);
}"""


@pytest.fixture(scope="module", autouse=True)
def leagues(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The leagues that the addresses name."""
    with league_with_players(site, every.PLAYED, 2, tmp_path_factory.mktemp("policy"), "--choice", "alternate"):
        site.post(f"/leagues/{every.PLAYED}/start", {"auto_advance": True})
        site.wait_until(every.PLAYED, "COMPLETED")
    site.create(every.OPEN)


def listening(browser: Browser, wrong: list[str]) -> Page:
    """A page of a browser that notes what the policy stopped."""
    page = browser.new_context().new_page()
    page.add_init_script(REPORT)
    stopped = ("POLICY", "Content Security Policy", "Content-Security-Policy")
    page.on(
        "console",
        lambda one: wrong.append(f"{page.url}: {one.text}") if any(word in one.text for word in stopped) else None,
    )
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    return page


def test_no_page_does_what_the_policy_forbids(site: Site, browser: Browser) -> None:
    wrong: list[str] = []
    page = listening(browser, wrong)
    every.log_in(page, site)
    for path in PAGES:
        page.goto(site.url + path)
        page.wait_for_load_state("load")
    assert wrong == []


def test_the_board_is_live_under_its_policy(site: Site, browser: Browser) -> None:
    wrong: list[str] = []
    page = listening(browser, wrong)
    page.goto(f"{site.url}/leagues/{every.OPEN}/")
    page.wait_for_selector("body[data-connection=live]")
    # What somebody smuggles into a page does nothing.
    page.evaluate(SMUGGLING)
    assert page.evaluate("window.smuggled") is None
    assert [line for line in wrong if "POLICY" in line and "script-src" in line] != []


class Elsewhere(BaseHTTPRequestHandler):
    """Somebody else's site, with a page of ours in a frame: the one that its path names."""

    def do_GET(self) -> None:
        content = f"<iframe src='http://{self.path[1:]}'></iframe>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """It is nobody's business."""


def test_the_embedded_table_may_stand_in_a_frame_and_nothing_else_may(site: Site, browser: Browser) -> None:
    page = browser.new_context().new_page()
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever).start()
        outside = f"http://127.0.0.1:{server.server_port}"
        frames = []
        for path in ("embed/", ""):
            page.goto(f"{outside}/127.0.0.1:{site.port}/leagues/{every.PLAYED}/{path}")
            frames.append(page.frames[1].url)
        server.shutdown()
    assert frames == [f"{site.url}/leagues/{every.PLAYED}/embed/", "chrome-error://chromewebdata/"]
