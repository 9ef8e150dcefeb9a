"""Equations with symmetric positive definite matrices."""

import random
from math import log

import pytest

from league_sdk.ledger.luck.matrices import cholesky, log_determinant, solve, solve_upper, transposed


def test_a_triangle_times_its_transpose_is_the_matrix() -> None:
    lower = cholesky([[4.0], [2.0, 5.0], [2.0, 3.0, 6.0]])
    assert lower == [[2.0], [1.0, 2.0], [1.0, 1.0, 2.0]]
    assert transposed(lower) == [[2.0, 1.0, 1.0], [2.0, 1.0], [2.0]]
    assert log_determinant(lower) == pytest.approx(log(64))


def test_what_is_solved_fulfils_the_equations() -> None:
    rng = random.Random(1)
    size = 12
    root = [[rng.gauss(0, 1) for _ in range(size)] for _ in range(size)]
    matrix = [[sum(a * b for a, b in zip(left, right, strict=True)) for right in root] for left in root]
    right = [rng.gauss(0, 1) for _ in range(size)]
    lower = cholesky(matrix)
    columns = transposed(lower)
    x = solve(lower, columns, right)
    assert [sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix] == pytest.approx(right)
    y = solve_upper(columns, right)
    assert [sum(a * b for a, b in zip(columns[i], y[i:], strict=True)) for i in range(size)] == pytest.approx(right)


@pytest.mark.parametrize("lower_row", [[2.0, 1.0], [1.0, 1.0]])
def test_a_matrix_that_is_not_positive_definite_is_refused(lower_row: list[float]) -> None:
    with pytest.raises(ValueError, match="not positive definite"):
        cholesky([[1.0], lower_row])
