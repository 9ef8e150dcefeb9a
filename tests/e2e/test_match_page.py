"""A match's page in a browser: it says why a point was lost, replays the game, and keeps open what a reader opened."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors
from tests.e2e.pictures import too_wide
from tests.e2e.site import Player, Site, wait_for
from tests.e2e.test_games import sdk_players

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

VIEWPORTS = {"phone": (390, 844), "projector": (1920, 1080)}


def open_page(browser: Browser, url: str, viewport: str, **context_options: Any) -> tuple[Page, list[str]]:
    """A page in a fresh browser context, and the list of its errors."""
    width, height = VIEWPORTS[viewport]
    page = browser.new_context(viewport={"width": width, "height": height}, **context_options).new_page()
    errors: list[str] = []
    collect_errors(page, errors)
    page.goto(url)
    return page, errors


def cells(page: Page) -> list[str]:
    """The marks on the board, row by row."""
    marks = page.locator(".grid .cell").all_text_contents()
    return [mark[:1] if mark[:1] in ("X", "O") else "" for mark in marks]


@pytest.fixture(scope="module", autouse=True)
def played(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Play a match that is lost by silence, and a Connect Four league."""
    folder = tmp_path_factory.mktemp("match")
    site.create("silent", move_timeout_s=2.5, max_retries=1, retry_base_s=0.1)
    with ExitStack() as stack:
        for name, delay in (("Ada", "0"), ("Sam", "60")):
            player = Player(site, name, folder, "--league-id", "silent", "--delay-choice", delay)
            stack.callback(player.close)
        site.post("/leagues/silent/start", {"auto_advance": True})
        site.create("drops", "connect_four")
        with sdk_players(site, "drops", "connect_four"):
            site.play_to_the_end("drops")
        site.wait_until("silent", "COMPLETED")


@pytest.mark.parametrize("viewport", ["phone", pytest.param("projector", marks=pytest.mark.long)])
def test_the_page_of_a_match_says_why_a_point_was_lost(site: Site, browser: Browser, viewport: str) -> None:
    page, errors = open_page(browser, f"{site.url}/leagues/silent/matches/R1M1/", viewport)
    loser = site.get("/leagues/silent/matches/R1M1")["result"]["faults"][0]["player_id"]
    expect(page.locator(".verdict")).to_contain_text(
        f"{loser} did not answer CHOOSE_PARITY_CALL in 2.5 s (tries: 2): technical loss."
    )
    expect(page.locator(".blame")).to_contain_text(f"{loser} deadline")
    expect(page.locator(".row.v-never")).to_have_count(2)
    expect(page.locator(".row.v-never .said").first).to_have_text("no answer in 2.5 s")
    expect(page.locator(".row.silence").first).to_be_visible()
    assert too_wide(page) == 0, "the page scrolls sideways"

    first = page.locator(".row.msg").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(first.locator("pre")).to_contain_text('"message_type": "GAME_INVITATION"')
    assert errors == []


@pytest.mark.long
@pytest.mark.parametrize("viewport", VIEWPORTS)
def test_a_reader_replays_a_game_by_keyboard(site: Site, browser: Browser, viewport: str) -> None:
    moves = site.get("/leagues/drops/matches/R1M1")["result"]["moves"]
    page, errors = open_page(browser, f"{site.url}/leagues/drops/matches/R1M1/", viewport)
    where = page.locator(".replay-where")
    expect(where).to_contain_text(f"Move {len(moves)} of {len(moves)}: ")
    final = cells(page)
    assert len([mark for mark in final if mark]) == len(moves)
    page.keyboard.press("ArrowLeft")
    expect(where).to_contain_text(f"Move {len(moves) - 1} of {len(moves)}: ")
    assert re.search(r" · \d+ ms", where.inner_text()), "no time beside the move"
    assert len([mark for mark in cells(page) if mark]) == len(moves) - 1

    page.locator(".replay-slider").focus()
    page.keyboard.press("Home")
    expect(where).to_have_text(f"Before move 1 of {len(moves)}")
    assert [mark for mark in cells(page) if mark] == []
    page.keyboard.press("ArrowRight")
    assert [mark for mark in cells(page) if mark] == ["X"]
    expect(page.locator("[data-move].last")).to_have_attribute("data-move", "1")
    page.keyboard.press("End")
    assert cells(page) == final
    expect(page.locator(".cell-won").first).to_be_visible()

    page.keyboard.press("Home")
    page.get_by_role("button", name="Play").press("Enter")
    expect(where).to_contain_text("Move 2 of")
    page.get_by_role("button", name="Pause").press("Enter")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="One move back").press("Enter")
    assert errors == []


@pytest.mark.long
def test_a_browser_without_scripts_shows_the_board_and_the_messages(site: Site, browser: Browser) -> None:
    url = f"{site.url}/leagues/drops/matches/R1M1/"
    page, _ = open_page(browser, url, "phone", java_script_enabled=False)
    expect(page.locator(".replay")).to_be_hidden()
    assert "X" in cells(page)
    page.locator(".row.msg summary").first.click()
    page.locator(".row.msg").first.get_by_role("link", name="JSON").click()
    expect(page.locator("body")).to_contain_text('"message_type": "GAME_INVITATION"')


@pytest.mark.long
def test_new_moves_do_not_disturb_what_a_reader_looks_at(site: Site, browser: Browser) -> None:
    site.create("thinking", "connect_four")
    with sdk_players(site, "thinking", "connect_four", "--think", "0.4"):
        site.post("/leagues/thinking/start")
        url = f"{site.url}/leagues/thinking/matches/R1M1/"
        wait_for("moves", lambda: len(site.get("/leagues/thinking/matches/R1M1")["view"].get("moves", [])) > 2)
        page, errors = open_page(browser, url, "projector")
        message = page.locator("#msg-1-0")
        message.locator("summary").click()
        expect(message.locator("pre")).to_contain_text("GAME_INVITATION")
        page.locator(".replay-slider").focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        before = page.locator("[data-move]").count()
        expect(page.locator(f'[data-move="{before + 2}"]')).to_be_attached(timeout=20_000)
        assert len([mark for mark in cells(page) if mark]) == 1
        expect(page.locator(".replay-where")).to_contain_text("Move 1 of")
        expect(page.locator(".replay-slider")).to_be_focused()
        expect(message.locator("pre")).to_contain_text("GAME_INVITATION")
        assert errors == []
