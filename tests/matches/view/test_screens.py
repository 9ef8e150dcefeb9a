"""How screens are steered, as it is kept in a column that anything may have been written to."""

from __future__ import annotations

from typing import Any

import pytest

from matches.view.screens import Steering, steering


@pytest.mark.parametrize("stored", [{}, {"turned": "3", "held": "yes", "featured": 4}, {"turned": None, "else": 1}])
def test_what_is_missing_or_wrong_is_automatic(stored: dict[str, Any]) -> None:
    assert steering(stored) == Steering()


def test_it_is_read_as_it_was_kept() -> None:
    original = Steering(-3, True, "R1M1")
    assert steering(original._asdict()) == original
