"""Another thread with its own database connection, for tests of two changes at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.matches.races import Other


@pytest.fixture
def other() -> Iterator[Other]:
    other = Other()
    yield other
    other.wait()
