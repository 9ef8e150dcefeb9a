"""What is counted and logged of a call of an agent: message, sender, how long it took, how it was answered."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from league_sdk.protocol import records
from league_sdk.protocol.errors import LeagueError, TooOften
from league_sdk.protocol.messages import REPORT_PROGRESS
from leaguesite.mcp.calls import Call
from leaguesite.mcp.methods import METHODS
from matches.observing import metrics

logger = logging.getLogger(__name__)

UNREADABLE = "unreadable"
QUIET = {REPORT_PROGRESS, "ping", "list_tools", "next_message"}
"""Calls that come all the time and say little, such as heartbeats: logged at DEBUG when nothing was wrong with them."""


def message_fields(call: Call) -> dict[str, Any]:
    """The fields of a log record that name a call's message and its conversation."""
    conversation_id = call.params.get("conversation_id")
    return {
        "message_type": call.name,
        "conversation_id": conversation_id if isinstance(conversation_id, str) else None,
    }


def code_of(error: LeagueError) -> str:
    """What an error is counted as: its E-code, or the HTTP status of one that has no code of its own."""
    return str(error.http_status) if isinstance(error, TooOften) else error.error_code


class Recorder:
    """Counts and logs one call, which may be answered in several steps, once its last step has ended.

    Attributes:
        call: the call; None until it was read.
        error_code: the error code that it was answered with; empty for none.
        goes_on: whether another step follows the one that is being done; set in the step.
    """

    def __init__(self, call: Call | None = None) -> None:
        self.call = call
        self.error_code = ""
        self.goes_on = False
        self._seconds = 0.0

    @contextmanager
    def step(self, *, waits: bool = False) -> Iterator[dict[str, Any]]:
        """Around each step; gives the fields of its log records.

        Args:
            waits: the answer is waited for, which does not count as the time of the call. If its caller breaks off, the
                call is neither counted nor logged.
        """
        begun, self.goes_on = time.perf_counter(), False
        with records.work("agent call") as fields:
            if self.call is not None:
                fields.update(message_fields(self.call))
            try:
                yield fields
            except BaseException as error:
                self.goes_on = not isinstance(error, Exception)
                raise
            finally:
                self._seconds += 0 if waits else time.perf_counter() - begun
                if not self.goes_on:
                    _record(self.call, self.error_code, self._seconds, fields)


def _record(call: Call | None, error_code: str, seconds: float, fields: dict[str, Any]) -> None:
    """Count and log a call that has been answered.

    Args:
        call: the call; None if it could not be read.
        error_code: the error code that it was answered with; empty for none.
        seconds: how long the answer took.
        fields: the fields of the log record; those about the call are added.
    """
    name = UNREADABLE if call is None else call.name if call.name in METHODS else metrics.OTHER
    metrics.called(name, error_code, seconds)
    if call is not None:
        fields.update(_subject_fields(call))
    fields["duration_ms"] = round(seconds * 1000, 1)
    level = logging.DEBUG if name in QUIET and not error_code else logging.INFO
    if error_code:
        fields["error_code"] = error_code
        logger.log(level, "%s was refused", name, extra={"event_type": "CALL_REFUSED"})
    else:
        logger.log(level, "%s was answered", name, extra={"event_type": "CALL_ANSWERED"})


def _subject_fields(call: Call) -> dict[str, Any]:
    """Agent, league, match and round of a call; an agent and a league are left out until they have been looked up."""
    fields: dict[str, Any] = {}
    if call.agent is not None:
        fields["peer"] = f"{call.agent.kind}:{call.agent.code}"
    if call.league is not None:
        fields["league_id"] = call.league.pk
    for name in ("match_id", "round_id"):
        value = call.params.get(name)
        if isinstance(value, (str, int)):
            fields[name] = value
    return fields
