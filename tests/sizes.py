"""How many cases a test tries: all in CI, a sample on a developer's machine, where `make test` may take six minutes.

CI repeats the tests on PostgreSQL with the sample; there it tries the ``exhaustive`` cases only of the folders in which
the two databases may differ.

``LEAGUE_CI`` is set by ``.ci/run``. A test that tries a list of cases keeps representative ones in `make test` and
marks the others ``exhaustive``; one that draws its cases, or makes many rows, has its number from here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

CI = bool(os.environ.get("LEAGUE_CI")) and "DATABASE_URL" not in os.environ

MANY_ROWS = 300 if CI else 30
"""The number of rows with which a page must not need more database queries than with a few rows."""


def examples(count: int) -> int:
    """The number of examples that hypothesis draws: ``count`` in CI, else a quarter of it, but at least one."""
    return count if CI else max(1, count // 4)


def sampled(cases: Iterable[Any], every: int = 4) -> list[Any]:
    """Cases to parametrize a test with; `make test` tries the first and every ``every``-th after it.

    Args:
        cases: what a test has as its argument, or tuples of its arguments.

    Returns:
        All cases; those that `make test` leaves out are marked ``exhaustive``.
    """
    return [
        pytest.param(
            *(case if type(case) is tuple else (case,)), marks=pytest.mark.exhaustive if number % every else ()
        )
        for number, case in enumerate(cases)
    ]
