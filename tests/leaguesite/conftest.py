"""What tests of the API share."""

from __future__ import annotations

import pytest

from tests.leaguesite.script import Script


@pytest.fixture
def script(api_key: str) -> Script:
    return Script(api_key)


@pytest.fixture
def public() -> Script:
    """Someone without a key."""
    return Script("")
