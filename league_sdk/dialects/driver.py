"""The one driver of a hunt: it sends what the hunt proposes and has the replies considered. The I/O is the caller's."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from league_sdk.dialects import shapes
from league_sdk.dialects.answers import Answer, Understanding
from league_sdk.dialects.hunt import Hunt, Proposal
from league_sdk.dialects.session import Answered
from league_sdk.protocol.transcript import Wire

SEARCH_COUNTS_S = 60.0
"""For so long an agent that counts requests may count those of our search for its words."""


R = TypeVar("R", bound=Answered)
E = TypeVar("E", bound=Exception)


@dataclass(frozen=True, slots=True)
class Replied(Generic[R]):
    """A request that was answered.

    Attributes:
        proposal: what was sent.
        reply: what came.
        understanding: whether this was it.
        answer: the message read.
    """

    proposal: Proposal
    reply: R
    understanding: Understanding
    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed(Generic[E]):
    """A request that was not answered, and why."""

    proposal: Proposal
    error: E


@dataclass(slots=True)
class Driver(Generic[R, E]):
    """Iterates over the requests of one hunt: each step sends one and says what came of it.

    The caller stops when it has what it wants. After a :class:`Failed` it stops, too, unless other words may help: then
    it calls :meth:`Hunt.give_up` and goes on.

    Attributes:
        hunt: what there is to say.
        send: sends a request, within so many seconds.
        failures: what ``send`` raises when no answer comes.
        limit_s: seconds for all requests together; none is begun later.
        next_id: gives JSON-RPC ids.
        now: monotonic seconds.
        pace: awaited before every request but the first.
        wire: the requests so far, for the transcript.
    """

    hunt: Hunt
    send: Callable[[Proposal, float], Awaitable[R]]
    failures: type[E]
    limit_s: float
    next_id: Callable[[], int]
    now: Callable[[], float] = time.monotonic
    pace: Callable[[], Awaitable[None]] | None = None
    wire: list[Wire] = field(default_factory=list, init=False)
    _begun: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun = self.now()

    def __aiter__(self) -> Driver[R, E]:
        return self

    async def __anext__(self) -> Replied[R] | Failed[E]:
        searching, left = self.hunt.has_begun, self.limit_s
        if searching:
            if self.pace is not None:
                await self.pace()
            left = self.left_s
        proposal = self.hunt.propose(self.next_id()) if left > 0 else None
        if proposal is None:
            raise StopAsyncIteration
        if searching:
            self.hunt.memory.searched_at = self.now()
        try:
            reply = await self.send(proposal, left)
        except self.failures as error:
            self.wire.append(self._on_the_wire(proposal, None))
            return Failed(proposal, error)
        self.wire.append(self._on_the_wire(proposal, reply))
        found, answer = self.hunt.consider(proposal, status=reply.status, body=reply.body, problem=reply.problem)
        return Replied(proposal, reply, found, answer)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the hunt began."""
        return self.now() - self._begun

    @property
    def left_s(self) -> float:
        """Seconds left for it."""
        return self.limit_s - self.elapsed_s

    @property
    def has_overasked(self) -> bool:
        """Whether the agent has refused for a rate that our own search may have exceeded (ruling, section 12)."""
        at = self.hunt.memory.searched_at
        return self.hunt.limited and at is not None and self.now() - at <= SEARCH_COUNTS_S

    def _on_the_wire(self, proposal: Proposal, reply: R | None) -> Wire:
        made = Wire(
            path=urlsplit(proposal.url).path,
            shape=proposal.shape,
            method=proposal.method,
            id=proposal.rpc_id,
            session=self.hunt.memory.session is not None,
            status=None if reply is None else reply.status,
            content_type="" if reply is None else reply.headers.get("content-type", ""),
            text="" if reply is None else reply.text,
        )
        if proposal.shape != shapes.CANONICAL or proposal.body.get("params") != self.hunt.message:
            made["request"] = proposal.body
        return made
