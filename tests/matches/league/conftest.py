"""Somebody else, for tests of two at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.matches.races import Other


@pytest.fixture
def other() -> Iterator[Other]:
    other = Other()
    yield other
    other.is_done()
