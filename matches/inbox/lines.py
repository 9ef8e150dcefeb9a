"""The messages that wait for agents that dial out, and the lines on which they are fetched."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from league_sdk.protocol.notes import Note
from storage import clock


class NotConnected(Exception):
    """The agent had no line on which the message could be handed over in time, or too many messages wait for it."""


class NotAnswered(Exception):
    """The agent took the message and did not answer in time.

    Attributes:
        lost: it may have been lost on its way: the line on which it went is gone, and the agent has not said that it
            has it. Only if the caller wants to know (:attr:`Terms.confirm`).
    """

    def __init__(self, *, lost: bool = False) -> None:
        super().__init__()
        self.lost = lost


class SiteStalled(Exception):
    """The agent did not take the message, or did not answer it, while a process of the site stood still.

    The agent may have its line at that process, or its answer may wait there, so nobody knows whose failure it is.

    Attributes:
        what: what stood still, or could not be reached.
        taken: the message was handed over to the agent.
    """

    def __init__(self, what: Note | str, *, taken: bool) -> None:
        super().__init__(str(what))
        self.what = what
        self.taken = taken


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a caller waits for an agent's answer, and what it wants to know if there is none.

    Attributes:
        limit_s: seconds until the answer must be here.
        grace_s: seconds until an agent without a line must have opened one.
        http: path and headers of the call, for a program that relays it to a server.
        seat: the seat for which a referee asks; empty for the league manager.
        confirm: without an answer, the process with the agent's line is asked whether the message went out there: the
            line may have been cut, or its process killed, with the message on its way.
    """

    limit_s: float
    grace_s: float
    http: Mapping[str, Any] = field(default_factory=dict)
    seat: str = ""
    confirm: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A message that waits for an agent.

    Attributes:
        id: the JSON-RPC id that the agent sees; never used twice.
        agent: the agent's primary key.
        request: the JSON-RPC request, with that id.
        ends_at: when its caller stops waiting, in monotonic seconds of this process.
        http: for a program that relays it to a server: the id that the caller gave it, if any, and the path and the
            headers of the call, if there are any (:func:`league_sdk.protocol.inbox.as_called`).
        seat: the seat for which a referee asks; empty for the league manager, and at processes other than the caller's.
    """

    id: int
    agent: int
    request: dict[str, Any]
    ends_at: float
    http: Mapping[str, Any] = field(default_factory=dict)
    seat: str = ""

    @property
    def left_s(self) -> float:
        """Seconds until its caller stops waiting."""
        return max(0.0, self.ends_at - time.monotonic())


@dataclass(slots=True, eq=False)
class Line:
    """A poll or a socket on which an agent fetches its messages.

    Attributes:
        agent: the agent's primary key.
        way: ``poll`` or ``websocket``.
        token: the SHA-256 of the auth_token that opened it.
        named: ids of the messages that the agent said it had when it opened the line.
        known: those, and the ids of the messages that were handed over on it.
        news: set when there may be something to hand over, or the line may have to end.
        taken_over: a newer line of the agent was opened; this one has to end.
        revoked: the token that opened it is not valid any more; it has to end.
        let_go: this process is cut off from the others; the agent has to open another line, elsewhere.
        opened_at: the time by the clock of all processes, in seconds.
        begun_at: the same in monotonic seconds of that process.
    """

    agent: int
    way: str
    token: str
    named: frozenset[int] = frozenset()
    known: set[int] = field(default_factory=set)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    taken_over: bool = False
    revoked: bool = False
    let_go: bool = False
    opened_at: float = field(default_factory=lambda: clock.now().timestamp())
    begun_at: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        """Whether it has to end."""
        return self.taken_over or self.revoked or self.let_go


class OtherHubs(Protocol):
    """The hubs of the other processes, and the messages to them."""

    def offered(self, offer: Offer, *, again: bool = False) -> None:
        """A caller here has a message for an agent whose line may be elsewhere.

        Args:
            offer: the message.
            again: the caller looks again: what it was told of this message may have been lost.
        """

    def withdrawn(self, offer_id: int, agent: int) -> None:
        """The caller of an offer does not wait any more."""

    def taken(self, offer_id: int, *, named: bool) -> None:
        """A message of a caller elsewhere was handed over here, or the agent has named it as one that it has."""

    def answered(self, offer_id: int, agent: int, response: dict[str, Any]) -> None:
        """An agent answered here what a caller elsewhere asked."""

    def opened(self, line: Line) -> None:
        """An agent opened a line here: its lines elsewhere end, and callers elsewhere offer again."""

    def stalled(self, since: float) -> Note | str:
        """What has stood still since then, so that nobody knows of the agents' lines; empty if nothing has."""
