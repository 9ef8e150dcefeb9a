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
NEGLIGIBLE = 9.0
"""A spread that explains the results exp(9) times worse than the best one is left out."""


class Decided(NamedTuple):
    """A match that was played to its end: the numbers of its players, and 1 if PLAYER_A won, -1 if PLAYER_B, else 0."""

    a: int
    b: int
    sign: int


class Normal(Protocol):
    """The part of :class:`random.Random` that is used here."""

    def random(self) -> float: ...

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float: ...


class Drawn(NamedTuple):
    """One possibility: the strengths, the advantage of PLAYER_A, and ``nu``."""

    strengths: list[float]
    first: float
    nu: float


@dataclass(frozen=True, slots=True)
class _Mode:
    """The likeliest parameters for one spread, and how far others may be from them."""

    parameters: list[float]
    columns: Matrix
    evidence: float


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths that the results leave possible."""

    players: int
    modes: tuple[_Mode, ...]
    weights: tuple[float, ...]

    def draw(self, rng: Normal) -> Drawn:
        """Draw strengths at random from the posterior distribution."""
        at, mode = rng.random() * sum(self.weights), self.modes[-1]
        for one, weight in zip(self.modes, self.weights, strict=True):
            at -= weight
            if at < 0:
                mode = one
                break
        noise = solve_upper(mode.columns, [rng.gauss() for _ in mode.parameters])
        drawn = [mean + more for mean, more in zip(mode.parameters, noise, strict=True)]
        return Drawn(drawn[: self.players], drawn[-2], exp(min(drawn[-1], 50.0)))


def estimate(players: int, matches: Sequence[Decided]) -> Strengths:
    """The strengths of players 0 to ``players`` - 1 that these results leave possible."""
    modes: list[_Mode] = []
    scores: list[float] = []
    start = [0.0] * (players + 2)
    for at, spread in enumerate(SPREADS):
        mode = _mode(players, matches, spread, start)
        modes.append(mode)
        start = mode.parameters
        width = (SPREADS[min(at + 1, len(SPREADS) - 1)] - SPREADS[max(at - 1, 0)]) / 2
        scores.append(mode.evidence - log(1 + (spread / PRIOR_SPREAD_SCALE) ** 2) + log(width))
        if scores[-1] < max(scores) - NEGLIGIBLE:
            break
    best = max(scores)
    likely = [(mode, exp(score - best)) for mode, score in zip(modes, scores, strict=True) if score > best - NEGLIGIBLE]
    return Strengths(players, tuple(mode for mode, _ in likely), tuple(weight for _, weight in likely))


def _mode(players: int, matches: Sequence[Decided], spread: float, start: list[float]) -> _Mode:
    """The likeliest parameters for one spread by Newton's method, which halves a step that makes it worse."""
    precisions = [spread**-2] * players + [PRIOR_FIRST_SD**-2, PRIOR_DRAWS_SD**-2]
    here, value = start, _log_posterior(matches, start, precisions)
    lower: Matrix = []
    columns: Matrix = []
    for _ in range(MAX_STEPS):
        slope, curvature = _derivatives(matches, here, precisions)
        lower = cholesky(curvature)
        columns = transposed(lower)
        step = solve(lower, columns, slope)
        largest = max(map(abs, step))
        # No step is longer than 5, where the chances are near 0 and 1 anyway.
        share = min(1.0, 5 / largest) if largest else 1.0
        while True:
            there = [old + share * change for old, change in zip(here, step, strict=True)]
            better = _log_posterior(matches, there, precisions)
            if better >= value - 1e-9 or share < 1e-6:
                break
            share /= 2
        here, value = there, better
        if largest < SMALL_STEP:
            break
    # The curvature is that before the last step, which was too small to change it.
    evidence = value + (sum(map(log, precisions)) - log_determinant(lower)) / 2
    return _Mode(here, columns, evidence)


def _log_posterior(matches: Sequence[Decided], at: list[float], precisions: list[float]) -> float:
    first, tied = at[-2], at[-1]
    nu, total = exp(tied), 0.0
    for a, b, sign in matches:
        d = at[a] - at[b] + first
        up = exp(d / 2)
        total += (sign * d / 2 if sign else tied) - log(up + 1 / up + nu)
    return total - sum(weight * value * value for weight, value in zip(precisions, at, strict=True)) / 2


def _derivatives(matches: Sequence[Decided], at: list[float], precisions: list[float]) -> tuple[list[float], Matrix]:
    """The slope of the logarithm of the posterior, and its curvature with the other sign (the lower triangle)."""
    size = len(at)
    first, tied = size - 2, size - 1
    slope = [-weight * value for weight, value in zip(precisions, at, strict=True)]
    curve: Matrix = [[0.0] * size for _ in range(size)]
    for i, weight in enumerate(precisions):
        curve[i][i] = weight
    advantage, nu = at[first], exp(at[tied])
    by_first, by_draw = curve[first], curve[tied]
    for a, b, sign in matches:
        up = exp((at[a] - at[b] + advantage) / 2)
        down = 1 / up
        sure = 1 / (up + down + nu)
        draw, mean = nu * sure, (up - down) * sure
        # The result as a number is 1, 0 or -1; half of it goes with d.
        pull = (sign - mean) / 2
        spread = (1 - draw - mean * mean) / 4
        slope[a] += pull
        slope[b] -= pull
        slope[first] += pull
        slope[tied] += (sign == 0) - draw
        curve[a][a] += spread
        curve[b][b] += spread
        if a > b:
            curve[a][b] -= spread
        else:
            curve[b][a] -= spread
        by_first[a] += spread
        by_first[b] -= spread
        by_first[first] += spread
        mixed = draw * mean / 2
        by_draw[a] -= mixed
        by_draw[b] += mixed
        by_draw[first] -= mixed
        by_draw[tied] += draw * (1 - draw)
    return slope, curve
