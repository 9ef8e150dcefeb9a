"""Which strengths of the players are possible after their results."""

import random
from math import exp, log
from statistics import fmean, stdev

import pytest

from league_sdk.ledger.luck import strengths
from league_sdk.ledger.luck.strengths import PlayedMatch, estimate


def matches_of(players: int, true: list[float], nu: float, first: float, rng: random.Random) -> list[PlayedMatch]:
    """Results of the model: everybody meets everybody twice.

    Args:
        true: the strengths of the players.
        nu: how frequent draws are.
        first: the advantage of the first player.
    """
    played = []
    for a in range(players):
        for b in range(players):
            if a == b:
                continue
            up = exp((true[a] - true[b] + first) / 2)
            drawn = rng.random() * (up + 1 / up + nu)
            played.append(PlayedMatch(a, b, 1 if drawn < up else -1 if drawn < up + 1 / up else 0))
    return played


def test_known_strengths_are_found_again() -> None:
    rng = random.Random(3)
    true = [-2.0, -1.0, 0.0, 1.0, 2.0]
    played = [match for _ in range(60) for match in matches_of(5, true, 0.7, 0.4, rng)]
    found = estimate(5, played)
    drawn = [found.draw(rng) for _ in range(200)]
    for number, strength in enumerate(true):
        assert fmean(one.strengths[number] - one.strengths[2] for one in drawn) == pytest.approx(strength, abs=0.3)
    assert fmean(one.first for one in drawn) == pytest.approx(0.4, abs=0.15)
    assert fmean(one.nu for one in drawn) == pytest.approx(0.7, abs=0.15)


def test_results_of_equal_players_leave_hardly_any_difference() -> None:
    rng = random.Random(5)
    equal = estimate(20, matches_of(20, [0.0] * 20, 1.0, 0.0, rng)).draw(rng)
    apart = estimate(20, matches_of(20, [rng.gauss(0, 1.5) for _ in range(20)], 1.0, 0.0, rng)).draw(rng)
    assert stdev(equal.strengths) < 0.35
    assert stdev(apart.strengths) > 1.0


def test_a_player_that_has_won_everything_is_not_infinitely_strong() -> None:
    everything = [PlayedMatch(0, other, 1) for other in range(1, 8)] * 3
    drawn = estimate(8, everything).draw(random.Random(1))
    assert 0 < drawn.strengths[0] < 40


def test_the_slope_and_the_curvature_are_those_of_the_posterior() -> None:
    rng = random.Random(2)
    played = matches_of(4, [0.5, -0.2, 0.0, 1.0], 0.5, 0.1, rng)
    at = [0.3, -0.4, 0.2, 0.7, 0.15, log(0.6)]
    precisions = [1.5] * 4 + [4.0, 0.25]
    slope, curvature = strengths._derivatives(played, at, precisions)

    def moved(by: dict[int, float]) -> list[float]:
        return [value + by.get(number, 0.0) for number, value in enumerate(at)]

    small = 1e-5
    for i in range(len(at)):
        up = strengths._log_posterior(played, moved({i: small}), precisions)
        down = strengths._log_posterior(played, moved({i: -small}), precisions)
        assert slope[i] == pytest.approx((up - down) / (2 * small), abs=1e-5)
        upper, _ = strengths._derivatives(played, moved({i: small}), precisions)
        lower, _ = strengths._derivatives(played, moved({i: -small}), precisions)
        for j in range(i + 1):
            assert curvature[i][j] == pytest.approx(-(upper[j] - lower[j]) / (2 * small), abs=1e-5)
