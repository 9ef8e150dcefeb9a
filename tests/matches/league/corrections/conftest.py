"""Fixtures of the tests of corrections."""

from __future__ import annotations

import pytest

from tests import factories as make
from tests.matches.correcting import in_round_two


@pytest.fixture
def made() -> make.MadeLeague:
    """A league whose first round is over and whose second one is being played."""
    return in_round_two()
