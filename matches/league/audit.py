"""WRITES: the log of who did what.

``matches.desk.acting.carry_out`` writes the entries for the actions in ``matches/desk/actions.py``. For what has no row
there (logins, exports, and accounts in the admin) the code that does it calls :func:`note`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.transcript import storable
from matches.models import AuditEntry, Via
from matches.models.audit import MAX_TARGET_CHARS
from matches.models.desk import MAX_USER_CHARS
from storage import clock


def note(
    *,
    by: Any,
    action: str,
    league_id: str = "",
    target: str = "",
    asked: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> None:
    """Write down what somebody has done, in the transaction in which it was done.

    Its many arguments are the columns of an entry; most are empty for most actions.

    Args:
        by: the user; None for a script with the API key.
        action: what was done, such as ``league.start``.
        league_id: the league that it was done in, if there is one.
        target: what it was done to besides the league.
        asked: what was asked for, without secrets.
        changes: for each thing that was changed, by its name, the value before and the value after.
    """
    AuditEntry.objects.create(
        at=clock.now(),
        account="" if by is None else by.get_username()[:MAX_USER_CHARS],
        via=Via.API if by is None else Via.DESK,
        action=action,
        league_id=storable(league_id)[:MAX_ID_CHARS],
        target=storable(target)[:MAX_TARGET_CHARS],
        asked=dict(asked or {}),
        changes=dict(changes or {}),
    )
