"""The board: which results it lists."""

from __future__ import annotations

import re

import pytest

from matches.audience import pages
from matches.audience.pages import PageKey, board
from tests import factories as make

pytestmark = pytest.mark.django_db

PLAYERS = 2 * (board.RECENT + 2)


def listed() -> tuple[list[str], list[str]]:
    """The matches whose results are shown at once, newest first, and those whose results are folded away."""
    fragments = pages.fragments(PageKey("board", "fall"), "en")
    assert fragments is not None
    shown, _, folded = fragments["results"].partition("<details")
    of_matches = re.compile(r'id="result-([^"]+)"')
    return of_matches.findall(shown), of_matches.findall(folded)


def test_every_result_of_the_last_two_rounds_is_listed_and_all_but_the_newest_are_folded() -> None:
    made = make.running_league(players=PLAYERS, referees=2)
    in_round = PLAYERS // 2
    for number in range(1, 4):
        make.finish_round(made)
        shown, folded = listed()
        rounds = [number, *([number - 1] if number > 1 else [])]
        assert sorted([*shown, *folded]) == sorted(f"R{n}M{m}" for n in rounds for m in range(1, in_round + 1))
        assert shown == [f"R{number}M{m}" for m in range(in_round, in_round - board.RECENT, -1)]
        make.next_round(made)


def test_a_few_results_are_not_folded() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    make.next_round(made)
    make.finish_round(made)
    assert listed() == (["R2M2", "R2M1", "R1M2", "R1M1"], [])
