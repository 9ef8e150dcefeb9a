"""One person runs a league from its desk, on a phone and a large screen: no reload, and nothing typed is lost."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bots import words
from tests.e2e.browser import collect_errors, log_in
from tests.e2e.site import Player, Site, free_port, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
SIZES = {"phone": {"width": 390, "height": 844}, "projector": {"width": 1920, "height": 1080}}
# The pauses between the tries are long (8, 16 and 32 s), so that the instructor has time to look at the match of a
# silent player and cancel it.
SETTINGS = {"join_timeout_s": 30, "move_timeout_s": 30, "retry_base_s": 8}
ZONE = "Asia/Jerusalem"


@contextmanager
def at_the_desk(browser: Browser, site: Site, league: str, size: str, scheme: str = "light") -> Iterator[Page]:
    """A league's desk, with the instructor logged in; checks that no request leaves the site and no script fails."""
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, timezone_id=ZONE, locale="en-GB")
    page, faults = context.new_page(), []
    page.on("request", lambda call: faults.append(call.url) if not call.url.startswith((site.url, "data:")) else None)
    collect_errors(page, faults)
    log_in(page, site)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.goto(f"{site.url}/admin/matches/league/{league}/change/")
    yield page
    assert faults == []
    context.close()


def screenshot(page: Page, name: str) -> None:
    """Take a screenshot if LEAGUE_SCREENSHOTS names a folder for it."""
    folder = os.environ.get("LEAGUE_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def register_silent_player(site: Site, league: str) -> None:
    """Register a player at an address where nobody listens."""
    meta = words.meta("Gone", f"http://127.0.0.1:{free_port()}/mcp")
    call = words.rpc("register_player", words.registration("player", "gone", "conv-gone", meta))
    answer = httpx.post(f"{site.url}/leagues/{league}/mcp", json=call, trust_env=False)
    assert "ACCEPTED" in answer.text, answer.text


def _wait_for_refresh(page: Page) -> None:
    """Wait until the page has fetched its live part once more."""
    with page.expect_response(re.compile("/now/")):
        pass


def click(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def expect_message(page: Page, sentence: str) -> None:
    expect(page.locator(".messagelist")).to_contain_text(sentence)


# The projector repeats the clicks of the phone, so it is long; test_every_page.py looks at the desk on both.
@pytest.mark.parametrize("size", ["phone", pytest.param("projector", marks=pytest.mark.long)])
def test_an_instructor_runs_a_round_from_the_desk(site: Site, browser: Browser, tmp_path: Path, size: str) -> None:
    league = f"evening-{size}"
    with (
        league_with_players(site, league, 3, tmp_path, **SETTINGS) as cast,
        at_the_desk(browser, site, league, size) as page,
    ):
        register_silent_player(site, league)
        _ask_all_agents(page, cast)
        _start_despite_a_silent_player(page)
        _pause_and_cancel(page, site, league)
        _check_that_refreshes_keep_typed_text(page)
        _plan_and_call_off(page)
        screenshot(page, f"desk-{size}")
        expect(page.locator("html")).to_have_js_property("scrollWidth", SIZES[size]["width"])


def _ask_all_agents(page: Page, cast: list[Player]) -> None:
    """The instructor asks all agents with one click, and their answers appear without a reload."""
    click(page, "Ask all agents whether they answer")
    expect_message(page, "their answers appear on this page")
    page.evaluate("window.sameDocument = true")
    expect(page.locator("[data-answer=silent]")).to_have_count(1)
    expect(page.locator("[data-answer=answered]")).to_have_count(len(cast) + 2)
    expect(page.locator(".desk-problems")).to_contain_text("These players did not answer the last time: P04.")
    assert page.evaluate("window.sameDocument") is True, "the page was reloaded"


def _start_despite_a_silent_player(page: Page) -> None:
    """Before the instructor starts the round, the desk names the player that would not answer."""
    confirm = page.locator("#confirm-start")
    confirm.locator("summary").click()
    expect(confirm).to_contain_text("1 of 4 would not answer: P04 Gone.")
    confirm.get_by_role("button", name="Start all the same").click()
    expect_message(page, "The round is started.")
    expect(page.locator(".desk-now")).to_contain_text("Round 1")


def _pause_and_cancel(page: Page, site: Site, league: str) -> None:
    """The instructor cancels the silent player's match, which would last a minute, and confirms that."""
    matches = site.get(f"/leagues/{league}/matches")
    [stuck] = [one for one in matches if "P04" in one.values() and one["round_id"] == 1]
    click(page, "Pause")
    expect_message(page, "Paused")
    match_id = stuck["match_id"]
    confirm = page.locator(f"#confirm-cancel-{match_id}")
    confirm.locator("summary").click()
    # The page refreshes itself, and what the instructor has opened stays open.
    for _ in range(2):
        _wait_for_refresh(page)
    confirm.get_by_role("button", name=f"Yes, cancel {match_id}").click()
    expect_message(page, f"{match_id} is cancelled and counts nowhere.")
    click(page, "Resume")
    expect_message(page, "The league goes on.")
    expect(page.locator(".desk-now")).to_contain_text("Round 1 is over", timeout=20_000)


def _check_that_refreshes_keep_typed_text(page: Page) -> None:
    field = page.locator("#plan-when")
    field.fill("2031-02-03T18:30")
    for _ in range(2):
        _wait_for_refresh(page)
    expect(field).to_have_value("2031-02-03T18:30")
    expect(field).to_be_focused()


def _plan_and_call_off(page: Page) -> None:
    """The instructor plans a start in the browser's time zone, which the site keeps in UTC, and calls it off."""
    tomorrow = (datetime.now() + timedelta(days=1)).strftime("%Y-%m-%d")
    expect(page.locator("[data-zone]")).to_have_text(ZONE)
    page.locator("#plan-when").fill(f"{tomorrow}T18:30")
    page.get_by_label("then every round, one after the other").check()
    click(page, "Plan this start")
    expect_message(page, "The start is planned.")
    shown = page.locator(".desk-planned time")
    expect(shown).to_contain_text("18:30")
    planned_utc = datetime.fromisoformat(f"{shown.get_attribute('datetime')}")
    assert (planned_utc.hour, planned_utc.minute) in ((16, 30), (15, 30))
    click(page, "Call it off")
    expect_message(page, "The planned start is called off.")
    expect(page.locator(".desk-planned")).to_have_count(0)


@pytest.mark.long
def test_a_league_starts_by_itself_at_its_planned_time(site: Site, browser: Browser, tmp_path: Path) -> None:
    with (
        league_with_players(site, "planned", 2, tmp_path),
        at_the_desk(browser, site, "planned", "projector") as page,
    ):
        # A time field has minutes only, so the test sets the script's own field, to 1.5 seconds from now.
        page.locator("#plan-when").fill("2031-02-03T18:30")
        page.evaluate(
            """() => document.querySelector("[data-local-time]").form.addEventListener("formdata", (event) =>
               event.formData.set("utc", new Date(Date.now() + 1500).toISOString()))"""
        )
        click(page, "Plan this start")
        expect_message(page, "The start is planned.")
        expect(page.locator(".desk-now")).to_contain_text("The league is over", timeout=20_000)
        site.wait_until("planned", "COMPLETED")


@pytest.mark.long
def test_the_desk_tells_an_instructor_who_was_logged_out(site: Site, browser: Browser) -> None:
    sentence = "You are not logged in any more: reload this page."
    site.create("left")
    with at_the_desk(browser, site, "left", "phone", "dark") as page:
        page.context.clear_cookies()
        expect(page.locator("[data-light]")).to_have_text(sentence, timeout=10_000)
