"""The projector at three sizes and with any names: no scroll bar, nothing beyond its edge, no name cut."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.e2e import offline
from tests.e2e.browser import chromium
from tests.e2e.test_every_page import violations

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db]


@pytest.mark.parametrize(
    ("game_type", "players"),
    [("connect_four", 30), ("tic_tac_toe", 4), ("even_odd", 60), ("connect_four", 200)],
)
def test_every_scene_fits_with_any_names(game_type: str, players: int) -> None:
    offline.in_play(game_type, players, names=offline.HARD_NAMES)
    scenes, found = offline.scenes_that_misfit()
    assert ["drawings" in seen for seen in scenes] == [True] * 6
    assert found == {}


@pytest.mark.parametrize("game_type", ["connect_four", "tic_tac_toe", "even_odd", "even_odd_numbers"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_of_matches_in_play_are_accessible(game_type: str, scheme: Literal["light", "dark"]) -> None:
    offline.in_play(game_type, 8)
    paths = ("screen/", "", "matches/R1M1/", "matches/R1M2/")
    pages = {path: offline.rendered(f"/leagues/fall/{path}") for path in paths}
    with chromium() as browser:
        for path, html in pages.items():
            page = offline.shown(browser, html, color_scheme=scheme, reduced_motion="reduce")
            if path == "screen/":
                page.keyboard.press("PageDown")
            assert page.locator(".game").count() > 0, path
            assert (path, violations(page)) == (path, [])
