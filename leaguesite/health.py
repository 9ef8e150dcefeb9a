"""Whether this process can host a league now, and why not (GET /health)."""

from __future__ import annotations

import time
from collections.abc import Callable

from league_sdk.protocol.envelope import LEAGUE_MANAGER, parse_sender

AGENT_ID = parse_sender(LEAGUE_MANAGER)[1]

_started = time.monotonic()
_checks: dict[str, Callable[[], str]] = {}


def add_check(name: str, check: Callable[[], str]) -> None:
    """Add a condition: a callable that returns what is missing, or an empty string."""
    _checks[name] = check


def status() -> dict[str, object]:
    """``{status, agent_id, uptime}``; status is ``ok``, or ``starting`` with a reason per missing condition.

    ``uptime`` is in whole seconds.
    """
    missing = {name: reason for name, check in _checks.items() if (reason := check())}
    found: dict[str, object] = {
        "status": "starting" if missing else "ok",
        "agent_id": AGENT_ID,
        "uptime": int(time.monotonic() - _started),
    }
    return found | {"reason": "; ".join(missing.values())} if missing else found
