"""Fixtures of the tests of pages."""

from __future__ import annotations

import pytest

from matches.league import making


@pytest.fixture
def schedules_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A league of 300 has its whole schedule when the start returns: no conductor runs here to write the rest."""
    monkeypatch.setattr(making, "MAX_MATCHES_AT_ONCE", 10**6)
