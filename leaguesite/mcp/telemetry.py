"""One call of an agent, as it is counted and logged: what it was, whose, how long it took, and how it was answered."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from league_sdk.protocol import records
from league_sdk.protocol.messages import REPORT_PROGRESS, MessageType
from leaguesite.mcp.calls import Call
from leaguesite.mcp.methods import METHODS
from leaguesite.observing import metrics

logger = logging.getLogger(__name__)

UNREADABLE = "unreadable"
QUIET = {name for name in METHODS if name not in set(MessageType) and "/" in name} | {
    REPORT_PROGRESS,
    "ping",
    "list_tools",
    "initialize",
}
"""What comes all the time and says little, such as heartbeats: at DEBUG when nothing was wrong with it."""


class Seen:
    """What is known of a call by the time it is answered.

    Attributes:
        call: the call, once it could be read.
        error_code: of the error it was answered with; empty for none.
        put_off: its answer is made elsewhere, and told of there.
    """

    __slots__ = ("_about", "call", "error_code", "put_off")

    def __init__(self, about: dict[str, Any]) -> None:
        self._about = about
        self.call: Call | None = None
        self.error_code = ""
        self.put_off = False

    def read(self, call: Call) -> Call:
        """The call can be read: what is logged from now on names its message and its conversation."""
        self.call = call
        given = call.params.get("conversation_id")
        self._about.update(message_type=call.name, conversation_id=given if isinstance(given, str) else None)
        return call


@contextmanager
def recorded() -> Iterator[Seen]:
    """Around the whole ladder of one call."""
    begun = time.perf_counter()
    with records.work("agent call") as about:
        seen = Seen(about)
        try:
            yield seen
        finally:
            if not seen.put_off:
                _tell(seen, about, time.perf_counter() - begun)


def _tell(seen: Seen, about: dict[str, Any], seconds: float) -> None:
    call, code = seen.call, seen.error_code
    name = UNREADABLE if call is None else call.name if call.name in METHODS else metrics.OTHER
    metrics.called(name, code, seconds)
    if call is not None:
        about.update(_about(call))
    about["duration_ms"] = round(seconds * 1000, 1)
    level = logging.DEBUG if name in QUIET and not code else logging.INFO
    if code:
        about["error_code"] = code
        logger.log(level, "%s was refused", name, extra={"event_type": "CALL_REFUSED"})
    elif logger.isEnabledFor(level):
        logger.log(level, "%s was answered", name, extra={"event_type": "CALL_ANSWERED"})


def _about(call: Call) -> dict[str, Any]:
    """Whom and what a call was about, as far as the ladder has come; a league and an agent are known, or not named."""
    found: dict[str, Any] = {}
    if call.agent is not None:
        found["peer"] = f"{call.agent.kind}:{call.agent.code}"
    if call.league is not None:
        found["league_id"] = call.league.pk
    for name in ("match_id", "round_id"):
        value = call.params.get(name)
        if isinstance(value, (str, int)):
            found[name] = value
    return found
