"""The figures of an evening: each by its rule, and computed from results only."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from league_sdk.ledger.standings import Row, Scoring
from matches.events.history import Outcome
from matches.view import sight
from matches.view.figures import Changes, Lucky, figures, longest_game, luckiest
from matches.view.luck import chances_of
from matches.view.stories import Ahead, Run
from tests import factories as make
from tests.matches.correcting import play_to_end
from tests.matches.view.test_stories import outcome

ROWS = [Row("Ada", "Ada"), Row("Bo", "Bo")]


def with_details(number: int, result: str, **details: Any) -> Outcome:
    """A result with details of the game."""
    return replace(outcome(number, result, seq=number), details=details)


def even_odd_game(number: int, result: str, first: str, second: str) -> Outcome:
    """A game of Even/Odd with these choices."""
    one = outcome(number, result)
    return with_details(number, result, drawn_number=8, choices=dict(zip(one.players, (first, second), strict=True)))


def test_the_longest_game_is_the_last_one_with_the_most_moves() -> None:
    games = [with_details(number, "Ada>Bo", moves=[1] * count) for number, count in enumerate((7, 42, 42, 9), 1)]
    longest = longest_game(games)
    assert longest is not None
    assert (longest.moves, longest.outcome.round_number) == (42, 3)
    assert longest_game([with_details(1, "Ada>Bo", moves="many"), outcome(2, "Ada>Bo")]) is None


def lucky(*games: Outcome, game_type: str = "even_odd") -> Lucky | None:
    """The luckiest player of these games."""
    return luckiest(games, Scoring(), ROWS, partial(chances_of, game_type))


def test_luck_counts_draws_that_could_have_gone_either_way() -> None:
    won = [even_odd_game(number, "Ada>Bo", "even", "odd") for number in range(4)]
    assert lucky(*won) == Lucky("Ada", 6.0)
    assert lucky(*won, *(even_odd_game(9, "Bo>Ada", "odd", "even") for _ in range(4))) is None
    # No luck: both chose the same; a game of skill, in which no number is drawn; a technical win, without a number.
    assert lucky(even_odd_game(1, "Ada=Bo", "even", "even")) is None
    assert lucky(with_details(1, "Ada>Bo", moves=[1, 2]), game_type="connect_four") is None
    assert lucky(outcome(1, "Ada!Bo")) is None
    # A student's referee may report anything: then the choices count as made at random.
    for choices in (None, 3, ["even"], {"Ada": {}, "Bo": []}, {}):
        won = [with_details(number, "Ada>Bo", drawn_number=1, choices=choices) for number in range(4)]
        assert lucky(*won) == Lucky("Ada", 4 * (3 - (3 + 2 * 1) / 4))


@pytest.mark.django_db
def test_the_figures_of_a_league() -> None:
    made = play_to_end(make.running_league(players=4))
    known = figures(sight.public(made.league))
    assert (known.matches, known.draws, known.technical_losses) == (6, 0, 0)
    assert known.runs == [Run("P01", 3, 1, 3)]
    assert (known.longest, known.ahead) == (None, Ahead(3, 1))
    assert known.lead == Changes(0, "P01", 2)
    assert known.luckiest == Lucky("P01", 4.5)
