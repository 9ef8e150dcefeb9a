"""The projector at three sizes and with any names: no scroll bar, nothing beyond its edge, no name cut."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.e2e import offline
from tests.e2e.browser import chromium
from tests.e2e.test_every_page import violations

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db]

SIZES = {"720": (1280, 720), "1080": (1920, 1080), "4k": (3840, 2160)}
MISFITS = """() => {
  const misfits = [];
  const report = (element, why) => misfits.push(`${why}: ${element.className} ${element.textContent}`.slice(0, 90));
  for (const element of document.querySelectorAll("main, main *")) {
    if (element.closest("svg, .visually-hidden") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    if (style.display === "inline") continue;
    if (element.scrollWidth > element.clientWidth + 1) report(element, "cut sideways");
    if (style.overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1) report(element, "cut below");
    const box = element.getBoundingClientRect();
    if (box.bottom > innerHeight + 1 || box.right > innerWidth + 1 || box.left < -1) report(element, "beyond the edge");
  }
  const { scrollHeight, scrollWidth } = document.documentElement;
  if (scrollHeight > innerHeight || scrollWidth > innerWidth) misfits.push("the page scrolls");
  return misfits;
}"""


@pytest.mark.parametrize(
    ("game_type", "players"),
    [("connect_four", 30), ("tic_tac_toe", 4), ("even_odd", 60), ("connect_four", 200)],
)
def test_every_scene_fits_with_any_names(game_type: str, players: int) -> None:
    offline.in_play(game_type, players, names=offline.HARD_NAMES)
    pages = {language: offline.rendered("/leagues/fall/screen/", language) for language in ("en", "he")}
    found: dict[tuple[str, str, str], list[str]] = {}
    with chromium() as browser:
        for language, html in pages.items():
            for size, (width, height) in SIZES.items():
                page = offline.shown(
                    browser, html, viewport={"width": width, "height": height}, reduced_motion="reduce"
                )
                seen: list[str] = []
                for scene in offline.scenes(page):
                    seen.append(scene)
                    if misfits := page.evaluate(MISFITS):
                        found[language, size, scene] = misfits
                assert "drawings" in seen
                page.context.close()
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
