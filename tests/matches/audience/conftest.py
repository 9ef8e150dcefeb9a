"""Fixtures of the tests of pages."""

from __future__ import annotations

import pytest

from matches.league import making


@pytest.fixture
def schedules_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A league of 300 has its schedule when the click returns: no conductor writes the rest of it here."""
    monkeypatch.setattr(making, "MAX_MATCHES_AT_ONCE", 10**6)
