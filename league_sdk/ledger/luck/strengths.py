"""How strong the players of a table may be: the strengths that its results leave possible. Pure.

The model is Davidson's, which is that of Bradley and Terry with draws: A wins, draws or loses with chances in the
proportion ``exp(d/2) : nu : exp(-d/2)``, where d is A's strength less B's, plus the advantage of PLAYER_A. The
strengths come from a normal distribution around 0. Its spread is not known either: the spreads of a grid are
weighted by how well they explain the results. So results that look like chance give strengths that hardly differ, and
other results give the differences that they show.

The strengths that are possible for one spread are taken to be normally distributed around the likeliest ones (Laplace's
approximation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple, Protocol

from league_sdk.ledger.luck.matrices import Matrix, cholesky, log_determinant, solve, solve_upper, transposed

SPREADS = (0.03, 0.1, 0.18, 0.27, 0.39, 0.54, 0.74, 1.0, 1.35, 1.8, 2.4, 3.2, 4.5)
"""Standard deviations of the strengths that are tried."""
PRIOR_SPREAD_SCALE = 1.0
"""The scale of the prior of the spread, a Cauchy distribution."""
PRIOR_FIRST_SD, PRIOR_DRAWS_SD = 0.5, 2.0
"""Standard deviations of the priors of the advantage of PLAYER_A and of the logarithm of ``nu``."""
MAX_STEPS, SMALL_STEP = 30, 1e-3
"""The search for the likeliest parameters ends after this many steps, or after a step that is smaller than this."""
NEGLIGIBLE = 9.0
"""A spread that explains the results exp(9) times worse than the best one is left out."""


class PlayedMatch(NamedTuple):
    """A match that was played to its end: the numbers of its players, and 1 if PLAYER_A won, -1 if PLAYER_B, else 0."""

    a: int
    b: int
    sign: int


class Normal(Protocol):
    """The part of :class:`random.Random` that is used here."""

    def random(self) -> float: ...

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float: ...


class Possibility(NamedTuple):
    """One possibility: the strengths, the advantage of PLAYER_A, and ``nu``."""

    strengths: list[float]
    first: float
    nu: float


@dataclass(frozen=True, slots=True)
class _Mode:
    """The likeliest parameters for one spread, and how far others may be from them.

    Attributes:
        parameters: the strengths of the players, the advantage of PLAYER_A, the logarithm of ``nu``.
        columns: of the triangle of the curvature (:func:`~league_sdk.ledger.luck.matrices.transposed`); the flatter the
            curvature, the further away other parameters may be.
        evidence: the logarithm of how well this spread explains the results.
    """

    parameters: list[float]
    columns: Matrix
    evidence: float


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths that the results leave possible."""

    players: int
    modes: tuple[_Mode, ...]
    weights: tuple[float, ...]

    def draw(self, rng: Normal) -> Possibility:
        """Draw strengths at random from the posterior distribution."""
        pick, mode = rng.random() * sum(self.weights), self.modes[-1]
        for possible_mode, weight in zip(self.modes, self.weights, strict=True):
            pick -= weight
            if pick < 0:
                mode = possible_mode
                break
        deviations = solve_upper(mode.columns, [rng.gauss() for _ in mode.parameters])
        drawn = [mean + deviation for mean, deviation in zip(mode.parameters, deviations, strict=True)]
        return Possibility(drawn[: self.players], drawn[-2], exp(min(drawn[-1], 50.0)))


def estimate(players: int, matches: Sequence[PlayedMatch]) -> Strengths:
    """The strengths of players 0 to ``players`` - 1 that these results leave possible."""
    modes: list[_Mode] = []
    scores: list[float] = []
    start = [0.0] * (players + 2)
    for index, spread in enumerate(SPREADS):
        mode = _mode(players, matches, spread, start)
        modes.append(mode)
        start = mode.parameters
        width = (SPREADS[min(index + 1, len(SPREADS) - 1)] - SPREADS[max(index - 1, 0)]) / 2
        scores.append(mode.evidence - log(1 + (spread / PRIOR_SPREAD_SCALE) ** 2) + log(width))
        if scores[-1] < max(scores) - NEGLIGIBLE:
            break
    best = max(scores)
    likely = [(mode, exp(score - best)) for mode, score in zip(modes, scores, strict=True) if score > best - NEGLIGIBLE]
    return Strengths(players, tuple(mode for mode, _ in likely), tuple(weight for _, weight in likely))


def _mode(players: int, matches: Sequence[PlayedMatch], spread: float, start: list[float]) -> _Mode:
    """The likeliest parameters for one spread by Newton's method; a step to less likely ones is halved."""
    precisions = [spread**-2] * players + [PRIOR_FIRST_SD**-2, PRIOR_DRAWS_SD**-2]
    parameters, log_posterior = start, _log_posterior(matches, start, precisions)
    lower: Matrix = []
    columns: Matrix = []
    for _ in range(MAX_STEPS):
        slope, curvature = _derivatives(matches, parameters, precisions)
        lower = cholesky(curvature)
        columns = transposed(lower)
        step = solve(lower, columns, slope)
        largest = max(map(abs, step))
        # No step is longer than 5, where the chances are near 0 and 1 anyway.
        share = min(1.0, 5 / largest) if largest else 1.0
        while True:
            next_parameters = [old + share * change for old, change in zip(parameters, step, strict=True)]
            next_log_posterior = _log_posterior(matches, next_parameters, precisions)
            if next_log_posterior >= log_posterior - 1e-9 or share < 1e-6:
                break
            share /= 2
        parameters, log_posterior = next_parameters, next_log_posterior
        if largest < SMALL_STEP:
            break
    # The curvature is that before the last step, which was too small to change it.
    evidence = log_posterior + (sum(map(log, precisions)) - log_determinant(lower)) / 2
    return _Mode(parameters, columns, evidence)


def _log_posterior(matches: Sequence[PlayedMatch], parameters: list[float], precisions: list[float]) -> float:
    advantage, log_nu = parameters[-2], parameters[-1]
    nu, total = exp(log_nu), 0.0
    for a, b, sign in matches:
        d = parameters[a] - parameters[b] + advantage
        up = exp(d / 2)
        total += (sign * d / 2 if sign else log_nu) - log(up + 1 / up + nu)
    return total - sum(weight * value * value for weight, value in zip(precisions, parameters, strict=True)) / 2


def _derivatives(
    matches: Sequence[PlayedMatch], parameters: list[float], precisions: list[float]
) -> tuple[list[float], Matrix]:
    """The slope of the logarithm of the posterior, and its curvature with the other sign (the lower triangle)."""
    size = len(parameters)
    first, tied = size - 2, size - 1
    slope = [-weight * value for weight, value in zip(precisions, parameters, strict=True)]
    curve: Matrix = [[0.0] * size for _ in range(size)]
    for i, weight in enumerate(precisions):
        curve[i][i] = weight
    advantage, nu = parameters[first], exp(parameters[tied])
    by_first, by_draw = curve[first], curve[tied]
    for a, b, sign in matches:
        up = exp((parameters[a] - parameters[b] + advantage) / 2)
        down = 1 / up
        scale = 1 / (up + down + nu)
        draw, mean = nu * scale, (up - down) * scale
        # ``draw`` is the chance of a draw, ``mean`` the expected sign. The logarithm of the result's chance has half of
        # the sign as the factor of d: so its slope by d is half of what the sign differs from its mean by, and the
        # variance of half of the sign is its curvature.
        pull = (sign - mean) / 2
        variance = (1 - draw - mean * mean) / 4
        slope[a] += pull
        slope[b] -= pull
        slope[first] += pull
        slope[tied] += (sign == 0) - draw
        curve[a][a] += variance
        curve[b][b] += variance
        if a > b:
            curve[a][b] -= variance
        else:
            curve[b][a] -= variance
        by_first[a] += variance
        by_first[b] -= variance
        by_first[first] += variance
        mixed = draw * mean / 2
        by_draw[a] -= mixed
        by_draw[b] += mixed
        by_draw[first] -= mixed
        by_draw[tied] += draw * (1 - draw)
    return slope, curve
