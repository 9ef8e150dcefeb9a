"""Fixtures of the fuzz tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.fuzz.site import site
from tests.fuzz.world import world

__all__ = ["site", "world"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many inputs the passed tests sent; each has recorded its own number, also in a process of xdist."""
    sent: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        sent.update({name: number for name, number in report.user_properties if name in ("inputs", "deliveries")})
    for name, number in sent.items():
        terminalreporter.write_line(f"{number:,} {name} were sent")
