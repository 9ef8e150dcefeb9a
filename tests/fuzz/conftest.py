"""What the fuzz tests share."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.fuzz.site import site
from tests.fuzz.world import world

__all__ = ["site", "world"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How much was sent in all; every test says it for itself, also from another process."""
    sent: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        sent.update({name: number for name, number in report.user_properties if name in ("inputs", "deliveries")})
    for name, number in sent.items():
        terminalreporter.write_line(f"{number:,} {name} were sent")
