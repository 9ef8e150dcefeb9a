"""Whether this process can do its work now, and why not (GET /health)."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import Error, connection

from league_sdk.protocol.envelope import LEAGUE_MANAGER, parse_sender

AGENT_ID = parse_sender(LEAGUE_MANAGER)[1]
NO_DATABASE = "the database does not answer"

_started = time.monotonic()
_checks: dict[str, Callable[[], str]] = {}


def add_check(name: str, check: Callable[[], str]) -> None:
    """Add a condition: a callable that returns what is missing, or an empty string. Everybody reads what it says."""
    _checks[name] = check


def status() -> dict[str, object]:
    """``{status, agent_id, uptime}``; status is ``ok``, or ``starting`` with a reason per missing condition.

    ``uptime`` is in whole seconds.
    """
    missing = {name: reason for name, check in list(_checks.items()) if (reason := _reason(check))}
    found: dict[str, object] = {
        "status": "starting" if missing else "ok",
        "agent_id": AGENT_ID,
        "uptime": int(time.monotonic() - _started),
    }
    return found | {"reason": "; ".join(dict.fromkeys(missing.values()))} if missing else found


def database_missing() -> str:
    """Asks the database for anything at all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _reason(check: Callable[[], str]) -> str:
    try:
        return check()
    except Error:
        return NO_DATABASE
