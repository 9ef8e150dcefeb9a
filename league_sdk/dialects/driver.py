"""Drive a hunt: send what it proposes and hand it the replies. The caller does the I/O."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from league_sdk.dialects import rates, shapes
from league_sdk.dialects.answers import Answer, Understanding
from league_sdk.dialects.hunt import ASIDE, Hunt, Proposal
from league_sdk.dialects.session import Answered
from league_sdk.protocol import own_words
from league_sdk.protocol.transcript import Wire

HUNT_COUNTS_S = 60.0
"""If an agent refuses a request for its rate within this time after a request of our search, the search may be why."""
RATE_WAIT_S, MIN_RATE_WAIT_S = 1.0, 0.25
"""How long an agent that has refused a request for its rate is left alone: if it does not say, and at least."""

R = TypeVar("R", bound=Answered)
E = TypeVar("E", bound=Exception)


@dataclass(frozen=True, slots=True)
class Replied(Generic[R]):
    """A request that was answered: what was sent, the HTTP reply, and what :meth:`Hunt.consider` made of it."""

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
    """Iterates over the requests of one hunt: each step sends one and yields its outcome.

    The search is polite (:meth:`Memory.wait_s`). If an agent refuses a request for its rate, the same request is sent
    once more at the time that the agent names, if that is within the limit: the refusal neither costs the agent its
    answer nor gains it time.

    The caller stops when it has the answer. After a :class:`Failed` it stops, too, or goes on with the next dialect
    by calling :meth:`Hunt.give_up`.

    Attributes:
        send: sends a request, within the given seconds.
        failures: what ``send`` raises when no reply comes.
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
    send: Callable[[Proposal, float], Awaitable[R]]
    failures: type[E]
    limit_s: float
    next_id: Callable[[], int]
    now: Callable[[], float] = time.monotonic
    pace: Callable[[], Awaitable[None]] | None = None
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    wire: list[Wire] = field(default_factory=list, init=False)
    own_words: str = field(default="", init=False)
    _said_little: bool = field(default=True, init=False)
    limited: Proposal | None = field(default=None, init=False)
    """The last request that was refused for a rate that our search may have exceeded (ruling, section 12)."""
    wanted_s: float | None = field(default=None, init=False)
    """Seconds that the agent wanted to be left alone when it last refused for a rate; None if it did not say."""
    _started_at: float = field(init=False)
    _not_before: float = field(default=0.0, init=False)
    _asks_again: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._started_at = self.now()

    def __aiter__(self) -> Driver[R, E]:
        return self

    async def __anext__(self) -> Replied[R] | Failed[E]:
        searching, left, memory = self.hunt.has_started, self.limit_s, self.hunt.memory
        if searching:
            if not await self._wait_politely():
                raise StopAsyncIteration
            left = self.left_s
        proposal = self.hunt.propose(self.next_id()) if left > 0 else None
        if proposal is None:
            raise StopAsyncIteration
        if searching and not self._asks_again:
            # Sending the same request again is no search: it excuses no agent that refuses for a rate.
            memory.searched_at = self.now()
        memory.note_request(self.now())
        try:
            reply = await self.send(proposal, left)
        except self.failures as error:
            self.wire.append(self._on_the_wire(proposal, None, getattr(error, "way", "")))
            return Failed(proposal, error)
        self.wire.append(self._on_the_wire(proposal, reply, reply.way))
        understood, answer = self.hunt.consider(proposal, status=reply.status, body=reply.body, problem=reply.problem)
        if understood is Understanding.NOT_UNDERSTOOD and proposal.method not in ASIDE:
            self._keep_words(reply)
        if self.hunt.rate_limited:
            self._heed_rate(proposal, reply)
        else:
            self._asks_again = False
        return Replied(proposal, reply, understood, answer)

    async def _wait_politely(self) -> bool:
        """Wait until the agent may be asked again; False if that is not within the limit, or nothing is left to ask."""
        now = self.now()
        wait_s = max(self._not_before - now, self.hunt.memory.wait_s(now, self.hunt.count))
        if wait_s >= self.left_s or not self.hunt.has_more:
            return self.hunt.has_more and wait_s < self.left_s
        if wait_s > 0:
            await self.sleep(wait_s)
        if self.pace is not None:
            await self.pace()
        return True

    def _heed_rate(self, proposal: Proposal, reply: R) -> None:
        """Note a refusal for a rate, and ask again when the agent wants it, once in a row and within the limit."""
        self.wanted_s = rates.wait_s(reply.body, reply.headers)
        searched_at = self.hunt.memory.searched_at
        if searched_at is not None and self.now() - searched_at <= HUNT_COUNTS_S:
            self.limited = proposal
        wait_s = max(MIN_RATE_WAIT_S, RATE_WAIT_S if self.wanted_s is None else self.wanted_s)
        if self._asks_again or not self.hunt.may_ask_again or wait_s >= self.left_s:
            return
        self._asks_again, self._not_before = True, self.now() + wait_s
        self.hunt.ask_again()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of the hunt."""
        return self.now() - self._started_at

    @property
    def left_s(self) -> float:
        """Seconds left for it."""
        return self.limit_s - self.elapsed_s

    @property
    def has_overasked(self) -> bool:
        """Whether the hunt ended with a refusal for a rate limit that our own search may have exceeded."""
        return self.hunt.rate_limited and self.limited is not None

    def _keep_words(self, reply: R) -> None:
        """Keep what the agent said in a reply that is not an answer."""
        if not self._said_little:
            return
        words = own_words.words_of(reply.body, reply.text)
        if words:
            self._said_little = own_words.says_only_unknown(reply.body, words)
            if not self.own_words or not self._said_little:
                self.own_words = words

    def _on_the_wire(self, proposal: Proposal, reply: R | None, way: str) -> Wire:
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
