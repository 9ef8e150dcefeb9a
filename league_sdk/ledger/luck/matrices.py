"""Symmetric positive definite matrices of a few hundred rows, in plain Python.

A row is a list of numbers; only what stands left of the diagonal, and the diagonal, is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from operator import mul

Matrix = list[list[float]]


def cholesky(matrix: Matrix) -> Matrix:
    """The lower triangle L for which L times its transpose is the matrix; rows end at the diagonal.

    Raises:
        ValueError: the matrix is not positive definite.
    """
    lower: Matrix = []
    for i, row in enumerate(matrix):
        line: list[float] = []
        for j in range(i):
            above = lower[j]
            # ``map`` ends with the shorter of the two, which is as long as the sum has terms.
            line.append((row[j] - sum(map(mul, line, above))) / above[j])
        square = row[i] - sum(map(mul, line, line))
        if square <= 0:
            raise ValueError("the matrix is not positive definite")
        line.append(sqrt(square))
        lower.append(line)
    return lower


def transposed(lower: Matrix) -> Matrix:
    """The columns of a lower triangle, each from the diagonal on."""
    return [[lower[i][j] for i in range(j, len(lower))] for j in range(len(lower))]


def solve_upper(columns: Matrix, right: Sequence[float]) -> list[float]:
    """The x for which the transpose of L times x is ``right``.

    Args:
        columns: L as :func:`transposed` has it.
        right: the right side.
    """
    # x is found from its last number to its first, and kept in that order.
    reversed_x: list[float] = []
    for j in range(len(columns) - 1, -1, -1):
        column = columns[j]
        known = sum(map(mul, reversed_x, reversed(column)))
        reversed_x.append((right[j] - known) / column[0])
    reversed_x.reverse()
    return reversed_x


def solve(lower: Matrix, columns: Matrix, right: Sequence[float]) -> list[float]:
    """The x for which the matrix times x is ``right``, from both forms of its triangle L."""
    middle: list[float] = []
    for row, value in zip(lower, right, strict=True):
        middle.append((value - sum(map(mul, row, middle))) / row[-1])
    return solve_upper(columns, middle)


def log_determinant(lower: Matrix) -> float:
    """The logarithm of the matrix' determinant, from its triangle L."""
    return 2 * sum(log(row[-1]) for row in lower)
