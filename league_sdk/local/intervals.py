"""How far a share of a few matches can be from what it would be in the long run."""

from __future__ import annotations

from math import sqrt

Z_95 = 1.959964
"""The normal quantile of a 95 % interval."""


def wilson(share: float, matches: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's formula, which holds for few matches and for shares of 0 and 1, too.

    Args:
        share: from 0 to 1. A draw that counts half makes the interval a little wider than it must be.
        matches: the number of matches; after none, every share is possible.
    """
    if matches == 0:
        return 0.0, 1.0
    square = Z_95**2 / matches
    middle = (share + square / 2) / (1 + square)
    half_width = Z_95 * sqrt(share * (1 - share) / matches + square / (4 * matches)) / (1 + square)
    return max(0.0, middle - half_width), min(1.0, middle + half_width)
