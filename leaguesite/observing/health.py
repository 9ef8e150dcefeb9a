"""Whether this process can do its work now, and if not, why (GET /health)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, NotRequired

from django.db import Error, connection
from typing_extensions import TypedDict

from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.envelope import LEAGUE_MANAGER, parse_sender
from league_sdk.protocol.schemas.parts import one_of, says

AGENT_ID = parse_sender(LEAGUE_MANAGER)[1]
NO_DATABASE = "the database does not answer"

_started = time.monotonic()
_checks: dict[str, Callable[[], str]] = {}


def add_check(name: str, check: Callable[[], str]) -> None:
    """Add a condition: a callable that returns what is missing, or an empty string. The text is public."""
    _checks[name] = check


class Health(TypedDict):
    """Whether leagues can be played here now."""

    status: Annotated[str, one_of(("ok", "starting")), says("ok, or starting while a condition is missing.")]
    agent_id: Annotated[str, says("The id of the league manager.")]
    version: Annotated[str, says("The version of the site.")]
    uptime: Annotated[int, says("How long this process has been running, in seconds.")]
    reason: NotRequired[Annotated[str, says("What is missing; only while it is starting.")]]


def status() -> Health:
    """``ok``, or ``starting`` with the reasons of the missing conditions, each reason once."""
    missing = {name: reason for name, check in list(_checks.items()) if (reason := _reason(check))}
    result: Health = {
        "status": "starting" if missing else "ok",
        "agent_id": AGENT_ID,
        "version": SDK_VERSION,
        "uptime": int(time.monotonic() - _started),
    }
    if missing:
        result["reason"] = "; ".join(dict.fromkeys(missing.values()))
    return result


def check_database() -> str:
    """A condition for :func:`add_check`: the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _reason(check: Callable[[], str]) -> str:
    try:
        return check()
    except Error:
        return NO_DATABASE
