"""Matches as drawings on the projector of a real site: moves appear, and keys and the instructor's phone choose which
drawing is large."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site, wait_for
from tests.e2e.test_games import sdk_players

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
PROJECTOR = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}
DISCS = """[...document.querySelectorAll(".screen-match .g-disc")]
  .map((path) => path.getAttribute("d").split("M").length - 1)"""


def opened(browser: Browser, url: str, errors: list[str], **context_options: object) -> Page:
    page = browser.new_context(**context_options).new_page()
    collect_errors(page, errors)
    page.goto(url)
    expect(page.locator("body")).to_have_attribute("data-connection", "live")
    return page


def discs(page: Page) -> int:
    """The number of discs in all drawings of the scene."""
    return sum(page.evaluate(DISCS))


def scene(page: Page) -> str | None:
    expect(page.locator("[data-shown]")).to_have_count(1)
    return page.locator("[data-shown]").get_attribute("data-scene")


def is_next_to(page: Page, name: str | None, by: int) -> bool:
    """Whether the scene is shown that is so many places after a scene; scenes come and go during a league."""
    names = [one.get_attribute("data-scene") for one in page.locator("[data-scene]").all()]
    return name in names and scene(page) == names[(names.index(name) + by) % len(names)]


@contextmanager
def halted(players: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """Stop players in the middle of their games: the round must not end while a slow browser still looks."""
    for process in players:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in players:
            process.send_signal(signal.SIGCONT)


def turn_to_the_drawings(page: Page) -> None:
    """Press a presenter's key until the scene with the drawings is shown."""
    for _ in range(6):
        if scene(page) == "drawings":
            return
        page.keyboard.press("PageDown")
    raise AssertionError("no scene has drawings")


def test_the_room_watches_games_and_the_instructor_steers_from_a_phone(site: Site, browser: Browser) -> None:
    site.create("games", "connect_four", move_timeout_s=200)
    errors: list[str] = []
    with sdk_players(site, "games", "connect_four", "--think", "0.5") as players:
        projector = opened(browser, f"{site.url}/leagues/games/screen/", errors, viewport=PROJECTOR)
        other = opened(browser, f"{site.url}/leagues/games/screen/", errors, viewport=PROJECTOR)
        board = opened(browser, f"{site.url}/leagues/games/", errors, viewport=PHONE)
        site.post("/leagues/games/start")
        expect(projector.locator(".screen-match")).to_have_count(2)
        turn_to_the_drawings(projector)
        projector.keyboard.press(" ")
        expect(projector.locator("[data-rotation-word]")).to_be_visible()
        seen = wait_for("discs", lambda: discs(projector))
        wait_for("more discs", lambda: discs(projector) > seen)
        # The league's board shows the same matches on a phone.
        expect(board.locator(".line .game-discs")).to_have_count(2)
        assert too_wide(board) == 0
        shoot(projector, "drawings-live")

        large, small = (projector.locator(".screen-match").nth(index) for index in (0, 1))
        first, second = large.get_attribute("id"), small.get_attribute("id")
        projector.keyboard.press("ArrowDown")
        expect(projector.locator("[data-large]")).to_have_attribute("id", str(second))
        projector.keyboard.press("a")
        expect(projector.locator("[data-large]")).to_have_count(0)
        expect(projector.locator("[data-rotation-word]")).to_be_hidden()

        with halted(players):
            phone = browser.new_context(viewport=PHONE).new_page()
            log_in(phone, site)
            phone.goto(f"{site.url}/admin/matches/league/games/remote/")
            assert too_wide(phone) == 0
            shoot(phone, "drawings-remote")
            phone.get_by_role("button", name=re.compile(str(second).removeprefix("drawing-"))).click()
            for page in (projector, other):
                expect(page.locator(".screen-match").first).to_have_attribute("id", str(second))
            phone.get_by_role("button", name="Hold").click()
            for page in (projector, other):
                expect(page.locator("[data-rotation-word]")).to_be_visible()
            before = scene(other)
            # Backwards first: the count of turns becomes negative.
            phone.get_by_role("button", name="Previous scene").click()
            wait_for("the scene before", lambda: is_next_to(other, before, -1))
            before = scene(other)
            phone.get_by_role("button", name="Next scene").click()
            wait_for("the scene after it", lambda: is_next_to(other, before, 1))
            # A screen that is opened now is held, too, and has the same large drawing.
            late = opened(browser, f"{site.url}/leagues/games/screen/", errors, viewport=PROJECTOR)
            expect(late.locator("[data-rotation-word]")).to_be_visible()
            expect(late.locator(".screen-match").first).to_have_attribute("id", str(second))
            phone.get_by_role("button", name="Automatic").click()
            expect(late.locator("[data-rotation-word]")).to_be_hidden()
        assert first != second
        assert errors == []
        # Students cannot steer: the page with the buttons is the desk's, and asks for a login.
        answer = site.http.get("/admin/matches/league/games/remote/")
        assert (answer.status_code, "/admin/login/" in answer.headers.get("Location", "")) == (302, True)


def test_a_win_flashes_once_and_not_with_reduced_motion(site: Site, browser: Browser) -> None:
    site.create("flash", "tic_tac_toe")
    errors: list[str] = []
    count = """
        window.flashes = [];
        const animate = Element.prototype.animate;
        Element.prototype.animate = function (frames, options) {
          if (this.classList.contains('screen-match')) window.flashes.push(this.id);
          return animate.call(this, frames, options);
        };
    """
    with sdk_players(site, "flash", "tic_tac_toe", "--think", "0.2"):
        projectors = []
        for motion in ("no-preference", "reduce"):
            page = browser.new_context(viewport=PROJECTOR, reduced_motion=motion).new_page()
            collect_errors(page, errors)
            page.add_init_script(count)
            page.goto(f"{site.url}/leagues/flash/screen/")
            expect(page.locator("body")).to_have_attribute("data-connection", "live")
            projectors.append(page)
        site.play_to_the_end("flash")
        for page in projectors:
            expect(page.locator("[data-scene=champion]")).to_be_visible()
        won = {
            f"drawing-{match['match_id']}" for match in site.get("/leagues/flash/matches") if match["status"] == "WIN"
        }
        moving, still = (page.evaluate("window.flashes") for page in projectors)
        assert len(moving) == len(set(moving)) and set(moving) <= won
        assert moving != []
        assert (still, errors) == ([], [])
