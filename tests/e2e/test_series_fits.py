"""The common table of a series with many evenings: rank, name and total stay in sight while the evenings scroll."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from agents_registry.models import Agent
from matches.league import series
from tests import factories as make
from tests.e2e import offline
from tests.e2e.browser import chromium
from tests.e2e.pictures import VIEWPORTS, too_wide

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db]

EVENINGS = 12
OUT_OF_SIGHT = """table => {
  const frame = table.parentElement.getBoundingClientRect();
  return [...table.querySelectorAll(".rank, .who, .total")].filter((cell) => {
    const box = cell.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1;
  }).map((cell) => cell.textContent);
}"""
OVERLAPPING = """table => [...table.tBodies[0].rows].filter((row) => {
  const [rank, who, total] = [".rank", ".who", ".total"].map((one) => row.querySelector(one).getBoundingClientRect());
  const inside = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1;
  return inside(rank, who) || inside(who, total) || inside(rank, total);
}).length"""


def many_evenings() -> None:
    """A series whose leagues have the same players, some with long names; a round of each is played."""
    for number in range(1, EVENINGS + 1):
        league_id = f"evening-{number}"
        made = make.league(league_id, players=len(offline.HARD_NAMES))
        for member, name in zip(made.players, offline.HARD_NAMES, strict=True):
            Agent.objects.filter(pk=member.agent.pk).update(display_name=name[:64])
        make.next_round(made)
        make.finish_round(made)
        series.put(league_id=league_id, series_id="course", series_name="Agents, winter term")


def test_names_and_sums_stay_in_sight_while_the_evenings_scroll() -> None:
    many_evenings()
    pages = {language: offline.rendered("/series/course/", language) for language in ("en", "he")}
    with chromium() as browser:
        for language, html in pages.items():
            for size in ("phone", "desktop"):
                width, height = VIEWPORTS[size]
                page = offline.shown(browser, html, viewport={"width": width, "height": height})
                table = page.locator("table.series")
                expect(table.locator("tbody tr")).to_have_count(len(offline.HARD_NAMES))
                assert too_wide(page) == 0
                for end in (0, 1):
                    table.evaluate(
                        "(table, end) => { const frame = table.parentElement; "
                        "frame.scrollLeft = end * frame.scrollWidth * (document.dir === 'rtl' ? -1 : 1); }",
                        end,
                    )
                    assert (language, size, table.evaluate(OUT_OF_SIGHT)) == (language, size, [])
                    assert (language, size, table.evaluate(OVERLAPPING)) == (language, size, 0)
                page.context.close()
