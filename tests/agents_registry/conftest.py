"""Lookups of host names in agents' addresses; a test says what they find."""

from __future__ import annotations

import pytest

from agents_registry.addresses import programs
from league_sdk.transport.names import Names
from tests.clock import Clock
from tests.league_sdk.transport.test_names import Zones


@pytest.fixture
def zones(monkeypatch: pytest.MonkeyPatch) -> Zones:
    lookups = Zones()
    monkeypatch.setattr(programs, "NAMES", Names(lookups, Clock()))
    return lookups
