"""Orders of a table, by examples worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from league_sdk.ledger.order import Order, UnknownCriterion
from league_sdk.ledger.order.criteria import CRITERIA
from league_sdk.ledger.order.order import Reason
from league_sdk.ledger.past import Entrant, Game, Past, Round

A, B, C, D = "P01", "P02", "P03", "P04"


def past(*rounds: list[tuple[str, str, str | None]], byes: tuple[str, ...] = ()) -> Past:
    """Rounds of games: two players, and who won, "" for a draw, None for a technical loss of both."""
    made = [
        Round(
            number,
            tuple(
                Game(f"R{number}M{place}", a, b, status=_status(winner), winner=winner or None)
                for place, (a, b, winner) in enumerate(games, start=1)
            ),
            byes if number == 1 else (),
        )
        for number, games in enumerate(rounds, start=1)
    ]
    return Past(tuple(Entrant(one, seed) for seed, one in enumerate((A, B, C, D), start=1)), tuple(made))


def _status(winner: str | None) -> str:
    return "TECHNICAL_LOSS" if winner is None else "WIN" if winner else "DRAW"


EVERYBODY = past([(A, B, A), (C, D, C)], [(A, C, C), (B, D, B)], [(A, D, A), (B, C, B)])
"""A, B and C have two wins each: A beat B, B beat C, C beat A; all three beat D."""
TWO_LEVEL = past([(A, B, B), (C, D, "")], [(A, C, A), (B, D, D)], [(A, D, ""), (B, C, "")])
"""A and B have a win and a draw; B beat A."""


def test_the_usual_order_is_points_then_wins_then_draws() -> None:
    assert Order().names == ("points", "wins", "draws")
    # D: win, two draws, 5 points. A, B: 4 points. C: two draws, 2 points.
    assert Order().groups(TWO_LEVEL) == [[D], [A, B], [C]]


def test_who_beat_the_other_is_before_it_if_they_are_level() -> None:
    assert Order(["points", "head_to_head"]).groups(TWO_LEVEL) == [[D], [B], [A], [C]]


def test_three_who_beat_each_other_in_a_circle_stay_level() -> None:
    assert Order(["points", "head_to_head"]).groups(EVERYBODY) == [[A, B, C], [D]]


def test_points_for_rest_are_none_from_the_games_among_themselves() -> None:
    # A and B have 3 points each: B beat A, and A rested once.
    then = replace(past([(A, B, B)], [(B, C, C)], byes=()), bye_points=3)
    rested = replace(then, rounds=(then.rounds[0], then.rounds[1]._replace(byes=(A,))))
    assert Order(["points", "head_to_head"]).groups(rested, [A, B]) == [[B], [A]]


def test_head_to_head_tells_nobody_apart_who_has_not_met_all_the_others() -> None:
    then = past([(A, B, A), (C, D, C)])
    assert Order(["points", "head_to_head"]).groups(then) == [[A, C], [B, D]]


def test_buchholz_counts_the_points_of_opponents_and_sonneborn_berger_of_those_beaten() -> None:
    # Points: A 3 1, B 3, C 1 ... after two rounds: A beat B and lost to C.
    then = past([(A, B, A), (C, D, "")], [(A, C, C), (B, D, B)])
    points = {one: then.rows[one].points for one in (A, B, C, D)}
    assert points == {A: 3, B: 3, C: 4, D: 1}
    assert CRITERIA["buchholz"].figures([A, B, C, D], then) == {A: 7, B: 4, C: 4, D: 7}
    assert CRITERIA["buchholz_cut_1"].figures([A, B, C, D], then) == {A: 4, B: 3, C: 3, D: 4}
    # Twice those beaten, once those drawn with.
    assert CRITERIA["sonneborn_berger"].figures([A, B, C, D], then) == {A: 6, B: 2, C: 7, D: 4}


def test_a_round_that_was_not_played_is_a_draw_against_oneself() -> None:
    then = past([(A, B, A)], [(A, C, None), (B, D, D)], byes=(C, D))
    # Adjusted: A 3 + 1, B 0, C 1 + 1, D 1 + 3.
    assert CRITERIA["buchholz"].figures([A, B, C, D], then) == {A: 0 + 4, B: 4 + 4, C: 2 + 2, D: 4 + 0}


def test_the_reason_is_the_first_criterion_that_parts_two_with_their_figures() -> None:
    order = Order(["points", "head_to_head", "seed"])
    assert order.reason(D, A, TWO_LEVEL) == Reason("points", (5, 4))
    assert order.reason(A, B, TWO_LEVEL) == Reason("head_to_head", (0, 3))
    assert order.reason(A, B, EVERYBODY) == Reason("seed", (-1, -2))
    assert Order(["points"]).reason(A, B, EVERYBODY) == Reason("")


def test_who_is_disqualified_is_last_and_who_is_withdrawn_keeps_its_place() -> None:
    def out(word: str) -> Past:
        return replace(EVERYBODY, entrants=(EVERYBODY.entrants[0]._replace(out=word), *EVERYBODY.entrants[1:]))

    assert Order().groups(out("disqualified")) == [[B, C], [D], [A]]
    assert Order().groups(out("withdrawn")) == [[A, B, C], [D]]


@pytest.mark.parametrize("names", [["points", "elo"], ["points", "points"]])
def test_an_order_of_unknown_or_repeated_criteria_is_refused(names: list[str]) -> None:
    with pytest.raises(UnknownCriterion, match="there are points, wins, draws"):
        Order(names)


def test_figures_do_not_depend_on_the_order_of_rows() -> None:
    for criterion in CRITERIA.values():
        there, back = [A, B, C, D], [D, C, B, A]
        assert criterion.figures(there, TWO_LEVEL) == criterion.figures(back, TWO_LEVEL)
