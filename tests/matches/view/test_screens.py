"""How screens are steered, read from a column that may contain anything."""

from __future__ import annotations

from typing import Any

import pytest

from matches.view.screens import Steering, steering


@pytest.mark.parametrize("stored", [{}, {"turned": "3", "held": "yes", "featured": 4}, {"turned": None, "else": 1}])
def test_a_missing_or_wrong_field_has_its_default(stored: dict[str, Any]) -> None:
    assert steering(stored) == Steering()


def test_a_stored_steering_is_read_unchanged() -> None:
    original = Steering(-3, True, "R1M1")
    assert steering(original._asdict()) == original
