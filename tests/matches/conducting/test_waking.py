"""How long nobody looked at the rows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from matches.conducting import waking


def test_how_long_it_slept_is_told_by_the_clock_that_saw_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=lambda: 50.0, time=lambda: 1000.0)
    monkeypatch.setattr(waking, "time", clock)
    looks = waking.Looks()
    assert (looks.slept_s(), looks.made(), looks.recent) == (0.0, 1000.0, True)
    for passed, by_clock, slept in ((0.5, 0.5, 0.5), (0.5, 60.5, 60.5), (9.0, 8.0, 9.0), (0.5, -3599.5, -3600.0)):
        clock.monotonic, clock.time = (lambda p=passed: 50.0 + p), (lambda c=by_clock: 1000.0 + c)
        assert (looks.slept_s(), looks.recent) == (slept, passed < 5)
