"""How much of a table is luck, on a real site: the figures appear on open pages by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from league_sdk.ledger.luck.figures import Luck, PlayerLuck
from matches.view import luck
from matches.view.luck import Known
from matches.view.sight import View
from tests.e2e import offline
from tests.e2e.browser import collect_errors
from tests.e2e.pictures import too_wide
from tests.e2e.site import Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
LEAGUE = "lucky"


def test_bars_and_sentences_come_by_themselves_when_rounds_are_over(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with league_with_players(site, LEAGUE, 4, tmp_path):
        errors: list[str] = []
        pages = {}
        for path in ("", "players/P01/", "screen/"):
            page = pages[path] = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
            collect_errors(page, errors)
            page.goto(f"{site.url}/leagues/{LEAGUE}/{path}")
            expect(page.locator("body")).to_have_attribute("data-connection", "live")
            expect(page.locator("[data-luck], .luck")).to_have_count(0)
        site.play_to_the_end(LEAGUE)

        def figures() -> dict[str, Any] | None:
            luck: dict[str, Any] = site.get(f"/leagues/{LEAGUE}/luck")
            return luck if luck["current"] else None

        luck = wait_for("the luck of the whole league is computed", figures)
        assert (luck["after_round"], luck["game_of_chance"], luck["coin"]) == (3, True, True)
        board, player = pages[""], pages["players/P01/"]
        expect(board.locator(".standings .luck")).to_have_count(4)
        expect(board.locator("[data-luck]")).to_contain_text("if rounds 1 to 3 were played again")
        expect(pages["screen/"].locator(".luck")).to_have_count(4)
        one = next(row for row in luck["players"] if row["player_id"] == "P01")
        expect(player.locator("[data-luck]")).to_contain_text(f"on average: {one['expected_points']:.1f}")
        assert [too_wide(page) for page in pages.values()] == [0, 0, 0]
        board.locator("[data-luck] a").click()
        expect(board.locator("h1").first).to_contain_text("How much of a table is luck")
        assert errors == []


class AnyPlace:
    """Luck figures by which every player could have any place."""

    def known(self, view: View) -> Known:
        n = len(view.names)
        anyone = PlayerLuck(place=1, points=0, low=1, high=n, first=0.1, best=0.1, better=0.5, could_be_chance=True)
        players = dict.fromkeys(view.names, anyone)
        return Known(Luck(players, 9, 0, 100, is_game_of_chance=False, table_could_be_chance=True), 1, fresh=True)


@pytest.mark.django_db
@pytest.mark.parametrize("players", [12, 30])
def test_every_name_fits_beside_the_bars_on_the_projector(players: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(luck, "keeper", AnyPlace())
    offline.in_play("connect_four", players, names=offline.HARD_NAMES)
    found: dict[tuple[str, str, str], list[str]] = {}
    for language, size, page in offline.screen_pages():
        for scene in offline.scenes(page):
            if scene.startswith("standings"):
                expect(page.locator("[data-shown] .luck")).to_have_count(players)
                found[language, size, scene] = page.evaluate(offline.MISFITS)
    assert found == {(language, size, "standings-1"): [] for language in ("en", "he") for size in offline.SIZES}
