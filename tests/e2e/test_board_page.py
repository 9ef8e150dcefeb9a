"""The board and the charts on a real site, on a phone and on the projector: rows move when a result comes in, charts
are drawn and redrawn, the cross table leads to the matches, and a returning visitor is told what changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
LEAGUE_NUMBERS = count(1)
VIEWPORTS: dict[str, dict[str, Any]] = {
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "projector": {"viewport": {"width": 1920, "height": 1080}},
}
COUNT_SLIDES = """
window.slides = 0;
const animate = Element.prototype.animate;
Element.prototype.animate = function (frames, options) {
  if (this.localName === "tr" && frames[0].transform) window.slides += 1;
  return animate.call(this, frames, options);
};
"""
COUNT_PAINTED_PIXELS = """host => {
  const canvas = host.shadowRoot?.querySelector("canvas");
  if (!canvas) return 0;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.reduce((sum, value, n) => sum + (n % 4 === 3 && value ? 1 : 0), 0);
}"""


@pytest.fixture
def league(site: Site, tmp_path: Path) -> Iterator[str]:
    """A league of four players, the first of which is no longer running: it falls from the first place to the last."""
    name = f"board{next(LEAGUE_NUMBERS)}"
    quick = {"move_timeout_s": 1, "join_timeout_s": 1, "max_retries": 0, "shutdown_after": 9}
    with league_with_players(site, name, 4, tmp_path, **quick) as players:
        players[0].close()
        yield name


def opened(browser: Browser, address: str, errors: list[str], **context_options: Any) -> Page:
    """Open a live page in a browser context of its own."""
    page = browser.new_context(**context_options).new_page()
    page.add_init_script(COUNT_SLIDES)
    collect_errors(page, errors)
    page.goto(address)
    expect(page.locator("body")).to_have_attribute("data-connection", "live")
    return page


@pytest.mark.parametrize("view", VIEWPORTS)
def test_a_spectator_copies_the_whole_ledger_hash_and_the_opened_command_stays_open(
    site: Site, league: str, browser: Browser, view: str
) -> None:
    errors: list[str] = []
    page = opened(browser, f"{site.url}/leagues/{league}/", errors, **VIEWPORTS[view])
    # Over plain http scripts have no clipboard, so the page copies what is selected.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.evaluate("addEventListener('copy', () => { window.copied = getSelection().toString(); })")
    line = page.locator(".ledger-head")
    shortened = "box => box.scrollWidth > box.clientWidth && box.getClientRects().length === 1"
    assert line.locator("code").evaluate(shortened)
    line.get_by_role("button").click()
    expect(line.get_by_role("button")).to_have_text("Copied")
    first = page.evaluate("window.copied")
    assert first == site.get(f"/leagues/{league}/ledger")["head"]
    page.get_by_text("How to check the league").click()
    command = page.locator("#ledger-how [data-copy-text]")
    expect(command).to_have_text(f"python -m league_sdk verify {site.url}/leagues/{league}/ --head {first}")
    # When the league goes on the hash changes; what the spectator has opened stays open.
    site.post(f"/leagues/{league}/start")
    expect(line.locator("code")).not_to_have_text(first)
    expect(command).to_be_visible()
    expect(line.get_by_role("button")).to_be_visible()
    assert too_wide(page) == 0
    shoot(page, f"board-ledger-{view}")
    assert errors == []


def rows(page: Page) -> list[str]:
    return page.locator("#fragment-standings tbody tr").evaluate_all("rows => rows.map(row => row.id)")


def table(site: Site, league: str) -> list[str]:
    return [f"row-{row['player_id']}" for row in site.get(f"/leagues/{league}/standings")]


def play_round(site: Site, league: str, number: int) -> None:
    site.post(f"/leagues/{league}/start")
    site.wait_for_round(league, number)


def painted_pixels(page: Page, name: str) -> int:
    """Wait until a chart is drawn; returns how many pixels of it have a colour."""
    plot = page.locator(f"#plot-{name}")
    plot.scroll_into_view_if_needed()
    return wait_for(f"{name} is drawn", lambda: int(plot.evaluate(COUNT_PAINTED_PIXELS)))


def test_a_result_moves_rows_and_redraws_the_charts(site: Site, league: str, browser: Browser) -> None:
    errors: list[str] = []
    address = f"{site.url}/leagues/{league}/"
    boards = {
        screen: opened(browser, address, errors, **context_options) for screen, context_options in VIEWPORTS.items()
    }
    for board in boards.values():
        board.evaluate("window.sameDocument = true")
        assert rows(board) == ["row-P01", "row-P02", "row-P03", "row-P04"]
        expect(board.locator("#fragment-ranks")).to_contain_text("No match has been played yet.")

    play_round(site, league, 1)
    for board in boards.values():
        expect(board.locator("#fragment-header")).to_contain_text("Round 1 is over")
        expect(board.locator("#row-P01 .f-T")).to_have_count(1)
        assert rows(board) == table(site, league)
        assert board.evaluate("window.slides") > 0
        painted_pixels(board, "ranks")
        expect(board.locator("#plot-ranks .end")).to_have_count(4)

    play_round(site, league, 2)
    for screen, board in boards.items():
        expect(board.locator("#fragment-header")).to_contain_text("Round 2 is over")
        assert rows(board) == table(site, league)
        board.locator("#plot-ranks .end").last.click()
        expect(board.locator("#plot-ranks .reading")).to_contain_text("round 2: #4")
        assert board.evaluate("window.sameDocument") is True, "the page was reloaded"
        assert too_wide(board) == 0
        board.evaluate("scrollTo(0, 0)")
        shoot(board, f"board-{screen}")

        link = board.locator("#fragment-cross tbody tr:first-child a.x-T").first
        target = link.get_attribute("href")
        link.click()
        board.wait_for_url(f"**{target}")
    assert errors == []


def test_a_spectator_follows_a_player_through_the_charts_by_keyboard(site: Site, league: str, browser: Browser) -> None:
    play_round(site, league, 1)
    errors: list[str] = []
    address = f"{site.url}/leagues/{league}/charts/"
    followed = []
    for screen, context_options in VIEWPORTS.items():
        page = opened(browser, address, errors, **context_options)
        before = painted_pixels(page, "race")
        ends = page.locator("#plot-race .end")
        ends.first.focus()
        page.keyboard.press("End")
        chosen = ends.last.locator(".pid").inner_text()
        expect(page.locator("#plot-race .reading .pid")).to_have_text(chosen)
        page.keyboard.press("Enter")
        expect(ends.last).to_have_attribute("aria-pressed", "true")
        followed.append((screen, page, before, chosen))
    play_round(site, league, 2)
    for screen, page, before, chosen in followed:
        plot = page.locator("#plot-race")
        wait_for(
            "the chart is drawn again",
            lambda plot=plot, before=before: int(plot.evaluate(COUNT_PAINTED_PIXELS)) != before,
        )
        expect(page.locator("#plot-race .reading")).to_contain_text("round 2")
        expect(page.locator("#plot-race .end[aria-pressed=true] .pid")).to_have_text(chosen)
        page.locator("#table-race summary").click()
        expect(page.locator("#table-race tbody tr")).to_have_count(4)
        expect(page.locator("#table-race thead th")).to_have_text(["Player", "1", "2"])
        # The player that is not running gave no answer that could be timed.
        expect(page.locator("#fragment-times table")).to_have_count(2)
        expect(page.locator("#fragment-times tbody tr")).to_have_count(6)
        shoot(page, f"charts-{screen}")
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        painted_pixels(page, "race")
    assert errors == []


def test_the_board_tells_a_returning_visitor_what_changed(site: Site, league: str, browser: Browser) -> None:
    errors: list[str] = []
    person = browser.new_context(**VIEWPORTS["phone"])
    page = person.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    address = f"{site.url}/leagues/{league}/"
    page.goto(address)
    expect(page.locator(".away-line")).to_be_hidden()
    page.goto("about:blank")
    play_round(site, league, 1)
    page.goto(address)
    expect(page.locator(".away-line")).to_have_text("Marked as new since you were here: results: 2, other changes: 2.")
    expect(page.locator("#fragment-results [data-new]")).to_have_count(2)
    page.reload()
    expect(page.locator("body")).to_have_attribute("data-connection", "live")
    expect(page.locator(".away-line")).to_be_hidden()
    expect(page.locator("[data-new]")).to_have_count(0)
    assert errors == []


def test_the_site_remembers_the_choice_between_light_and_dark(browser: Browser, site: Site) -> None:
    context = browser.new_context(color_scheme="light")
    page, other = context.new_page(), context.new_page()
    for one in (page, other):
        one.goto(site.url)
    page.get_by_role("button", name="Dark").click()
    for one in (page, other):
        expect(one.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.get_by_role("button", name="Dark")).to_be_visible()
