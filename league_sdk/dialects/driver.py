"""Drive a hunt: send what it proposes and hand it the replies. The caller does the I/O."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from league_sdk.dialects import rates, shapes
from league_sdk.dialects.answers import Answer, Understanding
from league_sdk.dialects.hunt import ASIDE, Hunt, Proposal
from league_sdk.protocol import own_words
from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.protocol.calls import CallFailed, Reply
from league_sdk.protocol.transcript import Wire

HUNT_COUNTS_S = 60.0
"""If an agent refuses a request for the moment within this time after a request of our search, the search may be why.
"""


@dataclass(frozen=True, slots=True)
class Replied:
    """A request that was answered: what was sent, the HTTP reply, and what :meth:`Hunt.consider` made of it."""

    proposal: Proposal
    reply: Reply
    understanding: Understanding
    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that was not answered, and why."""

    proposal: Proposal
    error: CallFailed


@dataclass(slots=True)
class Driver:
    """Iterates over the requests of one hunt: each step sends one and yields its outcome.

    The search is polite (:meth:`Memory.wait_s`). If an agent refuses a request for the moment, the hunt ends: whoever
    asks for an answer has further tries.

    The caller stops when it has the answer. After a :class:`Failed` it stops, too, or goes on with the next dialect
    by calling :meth:`Hunt.give_up`.

    Attributes:
        send: sends a request, within the given seconds.
        limit_s: seconds for all requests together; none is sent later.
        next_id: returns a new JSON-RPC id.
        now: monotonic seconds.
        pace: awaited before every request but the first.
        sleep: waits for a number of seconds, as ``now`` counts them.
        wire: the requests so far, for the transcript.
        own_words: what the agent said in place of an answer: the first text that says more than "unknown method", or
            the first text of all if none does.
    """

    hunt: Hunt
    send: Callable[[Proposal, float], Awaitable[Reply]]
    limit_s: float
    next_id: Callable[[], int]
    now: Callable[[], float] = time.monotonic
    pace: Callable[[], Awaitable[None]] | None = None
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    wire: list[Wire] = field(default_factory=list, init=False)
    own_words: str = field(default="", init=False)
    _said_little: bool = field(default=True, init=False)
    limited: Proposal | None = field(default=None, init=False)
    """The request that was refused for the moment (ruling, section 12), which ended the hunt."""
    overasked: bool = field(default=False, init=False)
    """Whether our own search may be why."""
    wanted_s: float | None = field(default=None, init=False)
    """Seconds that the agent wanted to be left alone when it refused for the moment; None if it did not say."""
    _started_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._started_at = self.now()

    def __aiter__(self) -> Driver:
        return self

    async def __anext__(self) -> Replied | Failed:
        searching, left, memory = self.hunt.count > 0, self.limit_s, self.hunt.memory
        if searching:
            if not await self._wait_politely():
                raise StopAsyncIteration
            left = self.left_s
        proposal = self.hunt.propose(self.next_id()) if left > 0 else None
        if proposal is None:
            raise StopAsyncIteration
        if searching:
            memory.searched_at = self.now()
        memory.note_request(self.now())
        try:
            reply = await self.send(proposal, left)
        except CallFailed as error:
            self.wire.append(self._on_the_wire(proposal, None, error.way))
            return Failed(proposal, error)
        self.wire.append(self._on_the_wire(proposal, reply, reply.way))
        understood, answer = self.hunt.consider(
            proposal, status=reply.status, body=reply.body, problem=reply.problem, headers=reply.headers
        )
        if understood is not Understanding.ANSWERED:
            self.hunt.note_refused(reply.size)
        if understood is Understanding.NOT_UNDERSTOOD and proposal.method not in ASIDE:
            self._keep_words(reply)
        if self.hunt.rate_limited:
            self._note_limit(proposal, reply)
        return Replied(proposal, reply, understood, answer)

    async def _wait_politely(self) -> bool:
        """Wait until the agent may be asked again; False if that is not within the limit, or nothing is left to ask."""
        wait_s = self.hunt.memory.wait_s(self.now(), self.hunt.count)
        if wait_s >= self.left_s or not self.hunt.has_more:
            return False
        if wait_s > 0:
            await self.sleep(wait_s)
        if self.pace is not None:
            await self.pace()
        return True

    @AGENTS_TIME
    def _note_limit(self, proposal: Proposal, reply: Reply) -> None:
        """Note a temporary refusal: what was refused, until when, and whether our search may be why."""
        self.limited, self.wanted_s = proposal, rates.wait_s(reply.body or reply.text, reply.headers)
        searched_at = self.hunt.memory.searched_at
        self.overasked = searched_at is not None and self.now() - searched_at <= HUNT_COUNTS_S

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of the hunt."""
        return self.now() - self._started_at

    @property
    def left_s(self) -> float:
        """Seconds left for it."""
        return self.limit_s - self.elapsed_s

    @AGENTS_TIME
    def _keep_words(self, reply: Reply) -> None:
        """Keep what the agent said in a reply that is not an answer."""
        if not self._said_little:
            return
        words = own_words.words_of(reply.body, reply.text)
        if words:
            self._said_little = own_words.says_only_unknown(reply.body, words)
            if not self.own_words or not self._said_little:
                self.own_words = words

    def _on_the_wire(self, proposal: Proposal, reply: Reply | None, way: str) -> Wire:
        wire = Wire(
            path=urlsplit(proposal.url).path,
            shape=proposal.shape,
            method=proposal.method,
            id=proposal.rpc_id,
            session=self.hunt.memory.session is not None,
            status=None if reply is None else reply.status,
            content_type="" if reply is None else reply.headers.get("content-type", ""),
            text="" if reply is None else reply.text,
        )
        if way:
            wire["way"] = way
        if proposal.shape != shapes.CANONICAL or proposal.body.get("params") != self.hunt.message:
            wire["request"] = proposal.body
        return wire
