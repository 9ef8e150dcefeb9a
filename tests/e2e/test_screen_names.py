"""Names in the projector's table: not much smaller than their ids, and close to them in either direction."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests import factories as make
from tests.e2e import offline

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db]

NAMES = ("Turing's Revenge", "נועה בן־דוד", "Parity Queen", "הסוכן של דני")
ROUNDS = 5
TOO_SMALL = """scene => [...scene.querySelectorAll("tbody .c-who")].filter((who) => {
  const size = (one) => parseFloat(getComputedStyle(who.querySelector(one)).fontSize);
  return size("bdi") < 0.7 * size(".pid");
}).map((who) => who.textContent)"""
FAR_FROM_ID = """scene => [...scene.querySelectorAll("tbody .c-who")].filter((who) => {
  const [id, name] = [".pid", "bdi"].map((one) => {
    const text = new Range();
    text.selectNodeContents(who.querySelector(one));
    return text.getBoundingClientRect();
  });
  const between = document.dir === "rtl" ? id.left - name.right : name.left - id.right;
  return between > id.width;
}).map((who) => who.textContent)"""


def play_rounds(players: int) -> None:
    """Play a league with names of usual lengths; every row then has the results of five matches."""
    made = offline.league_with_names(players, NAMES)
    for number in range(ROUNDS):
        make.next_round(made)
        make.finish_round(made, number % 2)


# On two pages of two columns, on one page of two columns, and in one column.
@pytest.mark.parametrize("players", [32, 18, 8])
def test_names_are_large_and_beside_their_ids(players: int) -> None:
    play_rounds(players)
    for language, size, page in offline.screen_pages():
        scene = page.locator("[data-scene=standings-1]")
        expect(scene).to_be_visible()
        found = [scene.evaluate(TOO_SMALL), scene.evaluate(FAR_FROM_ID), page.evaluate(offline.MISFITS)]
        assert (language, size, found) == (language, size, [[], [], []])
