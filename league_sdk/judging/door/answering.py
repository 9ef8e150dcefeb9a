"""How a message to a referee is read, answered or refused, in whichever dialect it comes.

It knows no HTTP and no matches: what needs a match is passed on to judging.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from league_sdk.dialects import inbound
from league_sdk.dialects.exchange import AnyDialect
from league_sdk.judging.door.tools import NAMES, NOTIFICATIONS, list_tools
from league_sdk.protocol import own_tools, rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import LeagueError, UnknownMethod, league_error
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.transcript import clean

HEALTH, METRICS = "health", "metrics"
"""What the door asks judging for when somebody calls /health or /metrics."""

SenderWaits = Callable[[], Awaitable[bool]]
"""Asks whether the sender of a request still waits for its answer."""


class Judging(Protocol):
    """Answers the requests that the door passes on."""

    @property
    def referee_id(self) -> str:
        """The id of the referee; empty before it has registered."""

    async def perform(self, name: str, message: dict[str, Any], sender_waits: SenderWaits) -> dict[str, Any]:
        """Answer a message; returns the fields of the answer.

        Args:
            name: one of :data:`~league_sdk.judging.door.tools.NAMES`, :data:`HEALTH` or :data:`METRICS`.
            message: the fields, unwrapped.
            sender_waits: whether the sender still waits for the answer.

        Raises:
            LeagueError: it is refused.
        """


class Answering(AnyDialect):
    """A request to a referee, in any shape."""

    failure = "The referee failed; nothing was changed."

    def __init__(self, judging: Judging) -> None:
        super().__init__()
        self._judging = judging

    def refusal(self, error: LeagueError, body: Any) -> Any:
        request = self.request
        message = error_message(error, request, self._judging.referee_id)
        if request is None:
            return rpc.error(rpc.request_id(body), error.rpc_code, error.message, message)
        return inbound.refuse(request, code=error.rpc_code, sentence=error.message, data=message)


def error_message(error: LeagueError, request: inbound.Inbound | None, referee_id: str) -> dict[str, Any]:
    """The LEAGUE_ERROR for a request that was refused.

    Args:
        error: why.
        request: the request; None if it could not be read.
        referee_id: the id of the referee; empty before it has registered.
    """
    # The error may quote the sender, who may have put a token into the wrong field.
    data = clean(league_error(error, original_message_type=request.name[:MAX_ID_CHARS] if request else None))
    return envelope(
        data.pop("message_type"),
        # Before a referee has registered it has no id; LEAGUE_ERROR is the league manager's message (004 4.10.1).
        sender=f"referee:{referee_id}" if referee_id else LEAGUE_MANAGER,
        conversation_id="conv-error",
        now=datetime.now(UTC),
        **data,
    )


def answer_here(name: str) -> dict[str, Any]:
    """Answer a message that needs no judging.

    Raises:
        UnknownMethod: a referee has no such method.
    """
    if name in own_tools.LIST_NAMES:
        return list_tools()
    if name == "ping" or name in NOTIFICATIONS:
        return {"status": "ok"}
    raise UnknownMethod("This referee has no such method.", field="method", seen=name, expected=", ".join(NAMES))
