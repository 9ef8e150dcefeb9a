"""Stages that follow each other, and what settings say of them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.formats.format import Over, Pair, Size, Wait
from league_sdk.formats.knockout import Knockout
from league_sdk.formats.registry import UnusableStages, formats, stages_of
from league_sdk.formats.stages import Begin, Stages
from league_sdk.ledger.past import Past
from tests.league_sdk.formats.playing import ORDER, entered, played

GROUPS_THEN_KNOCKOUT = [{"format": "groups", "groups": 2}, {"format": "knockout", "top": 4, "games": 3}]


def stages_from(*configured: dict[str, Any]) -> Stages:
    return Stages(stages_of(configured), ORDER, bytes(32))


def to_the_end(stages: Stages, count: int, chance: random.Random) -> list[Past]:
    """Every stage of a league that is played to its end."""
    begun = [entered(count)]
    while True:
        found = stages.next(begun)
        if isinstance(found, Over):
            return begun
        if isinstance(found, Begin):
            begun.append(found.past)
        else:
            assert isinstance(found, Pair)
            begun[-1] = played(begun[-1], found.round, chance)


@given(st.integers(4, 20), st.integers(0, 10**6).map(random.Random))
def test_the_best_of_the_groups_play_the_knockout(count: int, chance: random.Random) -> None:
    both = stages_from(*GROUPS_THEN_KNOCKOUT)
    groups, knockout = to_the_end(both, count, chance)
    places = [one for group in both.each[0].format.places(groups, ORDER) for one in group]
    assert len(knockout.entrants) == 4
    # Who is level is seeded by lot, so only the figures are the same.
    points = sorted((groups.rows[one].points for one in places[:2]), reverse=True)
    assert sorted((groups.rows[one].points for one in knockout.seeds[:2]), reverse=True) == points
    assert list(knockout.ids) == sorted(knockout.ids)
    assert [one.number for one in (*groups.rounds, *knockout.rounds)] == list(
        range(1, len(groups.rounds) + len(knockout.rounds) + 1)
    )
    size = both.size([entered(count)])
    assert size.rounds is not None and len(groups.rounds) + len(knockout.rounds) <= size.rounds


def test_the_size_of_a_league_counts_all_its_stages() -> None:
    assert stages_from({"format": "round_robin"}).size([entered(6)]) == Size(5, 15)
    # Two groups of four: 3 rounds, 12 matches. Semi-finals and final of three games: 6 rounds, 9 matches.
    assert stages_from(*GROUPS_THEN_KNOCKOUT).size([entered(8)]) == Size(9, 21)


def test_who_has_left_does_not_go_on() -> None:
    both = stages_from({"format": "round_robin"}, {"format": "knockout", "top": 2})
    begun = [to_the_end(stages_from({"format": "round_robin"}), 4, random.Random(1))[0]]
    best = both.each[0].format.places(begun[0], ORDER)[0][0]
    left = tuple(one._replace(out="withdrawn") if one.player_id == best else one for one in begun[0].entrants)
    found = both.next([replace(begun[0], entrants=left)])
    assert isinstance(found, Begin)
    assert best not in found.past.ids and len(found.past.ids) == 2


def test_a_match_of_an_earlier_stage_that_is_played_again_is_waited_for() -> None:
    both = stages_from(*GROUPS_THEN_KNOCKOUT)
    groups, knockout = to_the_end(both, 8, random.Random(2))
    last = groups.rounds[-1]
    reopened = last._replace(games=(last.games[0]._replace(status="", winner=None), *last.games[1:]))
    assert both.next([replace(groups, rounds=(*groups.rounds[:-1], reopened)), knockout]) == Wait(last.number)


def test_stages_are_read_from_settings() -> None:
    first, second = stages_of(
        [{"format": "round_robin", "cycles": 2}, {"format": "knockout", "top": 8, "third_place": True}]
    )
    assert (first.format.name, first.top, second.top) == ("round_robin", None, 8)
    assert isinstance(second.format, Knockout) and second.format.third_place and second.format.games == 1
    assert list(formats()) == ["round_robin", "groups", "knockout"]


@pytest.mark.parametrize(
    ("configured", "why"),
    [
        ([], "1 to 5 stages, not 0"),
        ([{"format": "swiss!"}], "there are round_robin, groups, knockout"),
        ([{}], "the format None"),
        ([{"format": "knockout", "top": 8}], "stage 1: top is 8"),
        ([{"format": "groups"}, {"format": "knockout", "top": 1}], "stage 2: top is 1"),
        ([{"format": "groups"}, {"format": "knockout", "top": True}], "stage 2: top is True"),
        ([{"format": "knockout", "rounds": 3}], "knockout has no 'rounds'; it has games, third_place"),
        ([{"format": "knockout", "games": 0}], "games is 0; it is a whole number from 1 to 100"),
        ([{"format": "knockout", "games": True}], "games is True; it is a whole number"),
        ([{"format": "knockout", "third_place": 1}], "third_place is 1; it is true or false"),
        ([{"format": "round_robin", "cycles": "2"}], "cycles is '2'; it is a whole number"),
    ],
)
def test_stages_that_no_league_can_have_are_refused(configured: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(UnusableStages, match=why):
        stages_of(configured)
