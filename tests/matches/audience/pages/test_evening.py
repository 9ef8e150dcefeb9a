"""The summary of a league that is over: podium, the champion's path and figures; only of what the audience may know."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from matches.audience import pages
from matches.audience.pages import PageKey, evening
from matches.audience.pages.evening import Evening
from matches.league import freeze, lifecycle
from matches.models import League
from matches.view import sight
from tests import factories as make
from tests.matches.audience.hostile import HOSTILE, assert_harmless
from tests.matches.correcting import make_correction, play_to_end

pytestmark = pytest.mark.django_db


def summary_now(*, staff: bool = False) -> Evening | None:
    """The summary of the only league; None before its end."""
    return evening.of_view(sight.view(League.objects.get(), staff=staff))


def summary_after_end(**how: Any) -> Evening:
    """The summary of a league that was played to its end; PLAYER_A won every match."""
    play_to_end(make.running_league(**how))
    summary = summary_now()
    assert summary is not None
    return summary


def test_there_is_no_summary_before_the_end_nor_of_a_stopped_league() -> None:
    made = make.league(players=4)
    assert summary_now() is None
    make.next_round(made)
    make.finish_round(made)
    assert summary_now() is None
    lifecycle.stop(league_id="fall")
    assert summary_now() is None


def test_the_summary_has_podium_path_and_figures() -> None:
    summary = summary_after_end(players=4)
    assert [(step.row.player_id, step.height, step.row.place) for step in summary.steps] == [
        ("P01", 3, "1"),
        ("P02", 2, "2"),
        ("P03", 1, "3"),
    ]
    [path] = summary.paths
    assert [(one.round_number, one.letter, one.place, one.opponent is not None) for one in path.steps] == [
        (1, "W", 1, True),
        (2, "W", 1, True),
        (3, "W", 1, True),
    ]
    names = [figure.line.name for figure in summary.figures]
    assert names == ["run", "lead", "finish", "luckiest", "matches"]


def test_a_round_without_a_match_is_a_step_of_the_path_without_an_opponent() -> None:
    path = summary_after_end(players=3).paths[0]
    assert [step.opponent is None for step in path.steps].count(True) == 1
    assert [step.letter for step in path.steps if step.opponent is None] == [""]


def test_champions_who_share_the_first_place_stand_equally_high() -> None:
    made = make.running_league(players=2)
    make.finish_round(made, None)
    summary = summary_now()
    assert summary is not None
    assert [(step.height, step.row.place) for step in summary.steps] == [(3, "=1"), (3, "=1")]
    assert len(summary.paths) == 2


def test_nobody_stands_on_the_podium_of_a_table_of_zeros() -> None:
    made = make.running_league(players=2)
    make.look()
    match = made.match("R1M1")
    make.report(match, None, **make.no_answer_from(match, "P01", "P02"))
    summary = summary_now()
    assert summary is not None
    assert (summary.steps, summary.champions, summary.paths) == ([], [], [])


def test_a_disqualified_player_is_not_on_the_podium() -> None:
    summary_after_end(players=4)
    make_correction("disqualify", player_id="P01", matches_become="keep")
    summary = summary_now()
    assert summary is not None
    assert "P01" not in [step.row.player_id for step in summary.steps]


def test_behind_a_freeze_only_the_staff_sees_the_summary() -> None:
    made = make.league_before_freeze()
    play_to_end(made)
    assert summary_now() is None
    assert summary_now(staff=True) is not None
    for _ in range(3):
        freeze.unveil(league_id="fall")
        assert summary_now() is None
        frames = pages.fragments(PageKey("screen", "fall"), "en")
        assert frames is not None and 'data-scene="figures"' not in "".join(frames.values())
    freeze.unveil(league_id="fall")
    assert summary_now() == summary_now(staff=True) is not None


def test_a_long_path_has_dots_instead_of_letters() -> None:
    summary = summary_after_end(players=4)
    view = sight.public(League.objects.get())
    [path] = summary.paths
    many = list(range(1, 60))
    course = evening.RankHistory(many, {"P01": many}, {"P01": many})
    assert (path.letters, evening.path_of(view, path.row, course).letters) == (True, False)


def marks(places: list[int]) -> list[tuple[int, int, bool]]:
    """What is written beside the path of a player who had these places: round, place, whether it is the deepest."""
    path = summary_after_end(players=4).paths[0]
    course = evening.RankHistory(list(range(1, len(places) + 1)), {"P01": places}, {"P01": places})
    found = evening.path_of(sight.public(League.objects.get()), path.row, course).marks
    return [(mark.step.round_number, mark.step.place, mark.deepest) for mark in found]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([1] * 36, []),
        ([*[5] * 20, *[30] * 20, *[1] * 20], [(1, 5, False), (21, 30, True), (60, 1, False)]),
        ([5, 30, *[1] * 58], [(2, 30, True), (60, 1, False)]),
        ([*[1] * 59, 30], [(1, 1, False), (60, 30, True)]),
        ([1] * 60, [(1, 1, False), (60, 1, False)]),
    ],
)
def test_a_long_path_names_its_last_place_and_where_there_is_room_its_deepest_and_first(
    places: list[int], expected: list[tuple[int, int, bool]]
) -> None:
    assert marks(places) == expected


def test_hostile_names_are_harmless_on_the_pages_of_a_finished_league(client: Client) -> None:
    made = make.league(players=0)
    League.objects.update(display_name=HOSTILE[:64])
    make.referee()
    for number in (1, 2):
        make.player(HOSTILE, "fall", port=8100 + number)
    make.next_round(made)
    make.finish_round(made)
    for path in ("/leagues/fall/", "/leagues/fall/screen/", "/leagues/fall/story/", "/leagues/fall/story/league.html"):
        assert_harmless(client.get(path).content.decode())


@pytest.mark.django_db(transaction=True)
def test_the_summary_is_computed_once() -> None:
    summary_after_end(players=4)
    evening._cached.clear()
    view = sight.public(League.objects.get())
    known = evening._known(view)
    assert [evening._known(view) is known for _ in range(3)] == [True] * 3
    make_correction("points", player_id="P01", points=1)
    assert evening._known(sight.public(League.objects.get())) is not known
    evening._cached.clear()
