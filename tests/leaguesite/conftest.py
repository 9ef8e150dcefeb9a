"""What the tests of ``leaguesite`` share."""

from __future__ import annotations

import pytest

from agents_registry.rate_limits.attempts import attempts
from leaguesite.observing import health
from tests.agents_registry.rate_limits.test_attempts import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the rate limits; it stands still until a test moves it."""
    clock = Clock()
    monkeypatch.setattr(attempts, "_clock", clock)
    return clock


@pytest.fixture
def no_health_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """``/health`` has no condition but those that the test adds."""
    monkeypatch.setattr(health, "_checks", {})
