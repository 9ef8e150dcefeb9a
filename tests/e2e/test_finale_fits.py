"""The scenes after the end of a league on the projector: no scroll bar, nothing beyond its edge or cut."""

from __future__ import annotations

import pytest

from tests import factories as make
from tests.e2e import offline

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser, pytest.mark.django_db]

NAMES = ("Ada", "Long Name Agent of the Third Group 4", "נועה בן־דוד ממכללת ירושלים, הסוכן", "Bo")
SCENES = {"champion", "podium", "path", "figures"}


def play_to_the_end(players: int) -> None:
    """Make a league and play it to its end."""
    made = offline.league_with_names(players, NAMES)
    while made.league.state != "COMPLETED":
        make.next_round(made)
        make.finish_round(made, made.league.rounds.filter(state="COMPLETED").count() % 2)


@pytest.mark.parametrize("players", [8, 40])
def test_every_scene_after_the_end_fits(players: int) -> None:
    play_to_the_end(players)
    scenes, found = offline.scenes_that_misfit()
    assert [{scene.partition("-")[0] for scene in seen} >= SCENES for seen in scenes] == [True] * 6
    assert found == {}
