"""The names at the ends of a chart's lines never overlap, from the first drawing on, and each is near its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from playwright.sync_api import Page, expect

from matches.league import lifecycle
from tests import factories as make
from tests.e2e import offline
from tests.e2e.browser import chromium

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db]

PLAYERS = 12
OVERLAPS = """plot => {
  const ends = [...plot.shadowRoot.querySelectorAll(".end")].map((end) => end.getBoundingClientRect());
  ends.sort((one, other) => one.top - other.top);
  return ends.filter((end, n) => n && end.top < ends[n - 1].bottom - 1).length;
}"""
MOVE_LAST_TO_FIRST = """table => {
  const [first, last] = [table.tBodies[0].rows[0], table.tBodies[0].rows[11]];
  first.lastElementChild.textContent = "12";
  last.lastElementChild.textContent = "1";
  table.tBodies[0].prepend(last);
}"""


def reload_with_slow_movements(page: Page) -> None:
    """Load the page again; movements of names then take an hour, so that a test sees each that was begun."""
    sheet = Path(str(finders.find("css/plot.css"))).read_text(encoding="utf-8")
    assert "200ms" in sheet
    slow = sheet.replace("200ms", "3600s")
    page.route("**/plot.css", lambda route: route.fulfill(body=slow, content_type="text/css"))
    page.reload()


@pytest.mark.parametrize("language", ["en", "he"])
def test_names_do_not_slide_apart_when_a_chart_is_first_drawn(language: str) -> None:
    made = make.running_league(players=PLAYERS)
    make.finish_round(made, None)
    lifecycle.stop(league_id="fall")
    html = offline.rendered("/leagues/fall/charts/", language)
    with chromium() as browser:
        page = offline.shown(browser, html, viewport={"width": 1280, "height": 900})
        reload_with_slow_movements(page)
        for name in ("ranks", "race"):
            plot = page.locator(f"#plot-{name}")
            plot.scroll_into_view_if_needed()
            expect(plot.locator(".end.lit")).to_have_count(1)
            assert plot.evaluate(OVERLAPS) == 0
        # Names whose rank has changed do move.
        page.locator("#table-ranks table").evaluate(MOVE_LAST_TO_FIRST)
        expect(page.locator("#plot-ranks .end.lit .pid")).to_have_text("P12")
        moving = page.locator("#plot-ranks").evaluate("plot => plot.shadowRoot.getAnimations().length")
        assert moving > 0


def test_names_stand_as_near_to_their_lines_as_their_neighbours_allow() -> None:
    cases: dict[str, tuple[list[float], list[float]]] = {
        "apart": ([50, 100, 150], [50, 100, 150]),
        "tied": ([80, 80, 80], [70, 80, 90]),
        "near a tie": ([80, 80, 85, 150], [71.67, 81.67, 91.67, 150]),
        "two ties that meet": ([80, 80, 96, 96], [73, 83, 93, 103]),
        "at the top": ([0, 0, 50], [5, 15, 50]),
        "at the bottom": ([100, 195, 200], [100, 185, 195]),
    }
    call = "points => import('/static/js/spacing.js').then((spacing) => spacing.withoutOverlaps(points, 10, 200))"
    with chromium() as browser:
        page = offline.shown(browser, b"<!doctype html><title>Labels</title>")
        middles = {name: page.evaluate(call, points) for name, (points, _) in cases.items()}
    assert middles == {name: pytest.approx(expected, abs=0.01) for name, (_, expected) in cases.items()}
