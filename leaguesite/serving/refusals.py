"""An error as the league manager sends it: the whole LEAGUE_ERROR inside a JSON-RPC error (ruling, section 5)."""

from __future__ import annotations

import uuid
from typing import Any

from agents_registry.rate_limits.attempts import Wait, too_often
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import LeagueError, TooLarge, league_error
from matches.observing import metrics
from storage import clock


def new_conversation_id() -> str:
    """An id for the answer to a message that has none."""
    return f"conv-{uuid.uuid4().hex[:12]}"


def error_message(
    error: LeagueError, *, original_message_type: str | None = None, conversation_id: str | None = None
) -> dict[str, Any]:
    """The LEAGUE_ERROR message (ruling, section 5)."""
    fields = league_error(error, original_message_type=original_message_type)
    return envelope(
        fields.pop("message_type"),
        sender=LEAGUE_MANAGER,
        conversation_id=conversation_id or new_conversation_id(),
        now=clock.now(),
        **fields,
    )


def refusal(error: LeagueError) -> bytes:
    """The body of an error for a request that could not be read."""
    return rpc.dumps(rpc.error(None, error.rpc_code, error.message, error_message(error)))


def too_large(seen: str, max_bytes: int) -> bytes:
    """The body of a 413.

    Args:
        seen: how large the body was, in words.
        max_bytes: the limit.
    """
    return refusal(TooLarge("The body is too large.", field="body", seen=seen, expected=f"at most {max_bytes} bytes"))


def refuse_if_too_often(wait: Wait | None, field: str | None = None) -> None:
    """Refuse a caller that has to wait; count that in the metrics.

    Args:
        wait: what was counted, and how long to wait; None: the caller may go on.
        field: the field that was tried too often, if it is one.

    Raises:
        TooOften: it has to wait.
    """
    if wait is not None:
        metrics.limited(wait.name)
        raise too_often(wait, field=field)
