"""The wall of boards on a real site: boards move by themselves, by keys, and by the instructor's phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site, wait_for
from tests.e2e.test_games import sdk_players

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
PROJECTOR = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}
DISCS = (
    "[...document.querySelectorAll('.wall-board .g-disc')].map((path) => path.getAttribute('d').split('M').length - 1)"
)


def opened(browser: Browser, url: str, errors: list[str], **context_options: object) -> Page:
    page = browser.new_context(**context_options).new_page()
    collect_errors(page, errors)
    page.goto(url)
    expect(page.locator("body")).to_have_attribute("data-connection", "live")
    return page


def discs(page: Page) -> int:
    """The number of discs on all boards."""
    return sum(page.evaluate(DISCS))


def scene(page: Page) -> str | None:
    expect(page.locator("[data-shown]")).to_have_count(1)
    return page.locator("[data-shown]").get_attribute("data-scene")


def turn_to_the_boards(page: Page) -> None:
    """Press the key that a presenter would press."""
    for _ in range(6):
        if scene(page) == "boards":
            return
        page.keyboard.press("PageDown")
    raise AssertionError("no scene has boards")


def test_the_room_watches_games_and_the_instructor_steers_from_a_phone(site: Site, browser: Browser) -> None:
    site.create("games", "connect_four", move_timeout_s=30)
    errors: list[str] = []
    with sdk_players(site, "games", "connect_four", "--think", "0.5"):
        wall = opened(browser, f"{site.url}/leagues/games/screen/", errors, viewport=PROJECTOR)
        other = opened(browser, f"{site.url}/leagues/games/screen/", errors, viewport=PROJECTOR)
        board = opened(browser, f"{site.url}/leagues/games/", errors, viewport=PHONE)
        site.post("/leagues/games/start")
        expect(wall.locator(".wall-board")).to_have_count(2)
        turn_to_the_boards(wall)
        wall.keyboard.press(" ")
        expect(wall.locator("[data-rotation-word]")).to_be_visible()
        seen = wait_for("discs", lambda: discs(wall))
        wait_for("more discs", lambda: discs(wall) > seen)
        # The same boards are on the phone, and move there, too.
        expect(board.locator(".line .game-discs")).to_have_count(2)
        assert too_wide(board) == 0
        shoot(wall, "wall-live")

        large, small = (wall.locator(".wall-board").nth(place) for place in (0, 1))
        first, second = large.get_attribute("id"), small.get_attribute("id")
        wall.keyboard.press("ArrowDown")
        expect(wall.locator("[data-large]")).to_have_attribute("id", str(second))
        wall.keyboard.press("a")
        expect(wall.locator("[data-large]")).to_have_count(0)
        expect(wall.locator("[data-rotation-word]")).to_be_hidden()

        phone = browser.new_context(viewport=PHONE).new_page()
        log_in(phone, site)
        phone.goto(f"{site.url}/admin/matches/league/games/remote/")
        assert too_wide(phone) == 0
        shoot(phone, "wall-remote")
        phone.get_by_role("button", name=re.compile(str(second).removeprefix("board-"))).click()
        for page in (wall, other):
            expect(page.locator(".wall-board").first).to_have_attribute("id", str(second))
        phone.get_by_role("button", name="Hold").click()
        for page in (wall, other):
            expect(page.locator("[data-rotation-word]")).to_be_visible()
        before = scene(other)
        phone.get_by_role("button", name="Next scene").click()
        expect(other.locator("[data-shown]")).not_to_have_attribute("data-scene", str(before))
        phone.get_by_role("button", name="Previous scene").click()
        expect(other.locator("[data-shown]")).to_have_attribute("data-scene", str(before))
        # A screen that is opened now is held, too, and has the same large board.
        late = opened(browser, f"{site.url}/leagues/games/screen/", errors, viewport=PROJECTOR)
        expect(late.locator("[data-rotation-word]")).to_be_visible()
        expect(late.locator(".wall-board").first).to_have_attribute("id", str(second))
        phone.get_by_role("button", name="Automatic").click()
        expect(late.locator("[data-rotation-word]")).to_be_hidden()
        assert first != second
        assert errors == []
        # Students cannot steer: the page and its buttons are the desk's.
        assert site.http.post("/admin/matches/league/games/screen/next/").status_code in (302, 403)


def test_a_win_flashes_once_and_not_with_reduced_motion(site: Site, browser: Browser) -> None:
    site.create("flash", "tic_tac_toe")
    errors: list[str] = []
    count = """
        window.flashes = [];
        const animate = Element.prototype.animate;
        Element.prototype.animate = function (frames, options) {
          if (this.classList.contains('wall-board')) window.flashes.push(this.id);
          return animate.call(this, frames, options);
        };
    """
    with sdk_players(site, "flash", "tic_tac_toe", "--think", "0.2"):
        walls = []
        for motion in ("no-preference", "reduce"):
            page = browser.new_context(viewport=PROJECTOR, reduced_motion=motion).new_page()
            collect_errors(page, errors)
            page.add_init_script(count)
            page.goto(f"{site.url}/leagues/flash/screen/")
            expect(page.locator("body")).to_have_attribute("data-connection", "live")
            walls.append(page)
        site.play_to_the_end("flash")
        for page in walls:
            expect(page.locator("[data-scene=champion]")).to_be_visible()
        won = {f"board-{match['match_id']}" for match in site.get("/leagues/flash/matches") if match["status"] == "WIN"}
        moving, still = (page.evaluate("window.flashes") for page in walls)
        assert len(moving) == len(set(moving)) and set(moving) <= won
        assert moving != []
        assert (still, errors) == ([], [])
