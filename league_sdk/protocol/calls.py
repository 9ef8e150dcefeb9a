"""What comes of a call to an agent: an HTTP reply, or the failure that brought none, whoever makes the call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.protocol import faults
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Note


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP reply.

    Attributes:
        body: the decoded JSON; None if the body was empty or could not be read.
        problem: why the body could not be read; empty if it could.
        elapsed_s: seconds from the beginning of the call, with the lookup of the name, to the end of the reply.
        headers: names in lower case.
        text: the beginning of a body that could not be read, and the end of a long one.
        notes: what was wrong with the reply and was tolerated.
        way: a :class:`league_sdk.protocol.inbox.Way`; empty for a reply to a POST at the agent's address.
        size: the bytes of the body; 0 for a web page, which is not read through.
    """

    status: int
    body: Any
    problem: str
    elapsed_s: float
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    notes: tuple[Note, ...] = field(default=(), compare=False, repr=False)
    way: str = field(default="", compare=False, repr=False)
    size: int = field(default=0, compare=False, repr=False)


class CallFailed(Exception):
    """No usable HTTP reply came.

    Attributes:
        problem: what happened.
        error_code: E001 (out of time) or E009 (everything else).
        connected: whether the request may have reached the agent.
        cause: whose fault it is; REFEREE or LEAGUE if this machine could not even try.
        detail: what happened, in words for the owner of the agent; by default the problem.
        maybe_offline: this machine may have no network; whether another agent can be called shows it.
        way: a :class:`league_sdk.protocol.inbox.Way`; empty for a call at the agent's address.
    """

    error_code = "E009"

    def __init__(
        self,
        problem: Note | str,
        *,
        connected: bool,
        cause: Cause | None = None,
        detail: Note | None = None,
        maybe_offline: bool = False,
        way: str = "",
    ) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.connected = connected
        self.cause = cause or faults.of_error(self.error_code)
        self.detail = detail or problem
        self.maybe_offline = maybe_offline
        self.way = way


class TimedOut(CallFailed):
    """The time was over, while waiting for the reply, the connection or the name (``cause`` says which)."""

    error_code = "E001"


class NotReached(CallFailed):
    """Refused, unreachable, unknown name, or not allowed by the policy."""


class Broken(CallFailed):
    """The connection or the reply broke off, or the reply was too large."""
