"""How many connections may wait at a port that nothing accepts yet: the system's limit, whatever a server asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

_LIMIT = Path("/proc/sys/net/core/somaxconn")


def needs(count: int) -> pytest.MarkDecorator:
    """Skip a test where the system lets fewer connections wait."""
    allowed = int(_LIMIT.read_text()) if _LIMIT.exists() else 0
    return pytest.mark.skipif(allowed < count, reason=f"the system lets {allowed} connections wait, not {count}")
