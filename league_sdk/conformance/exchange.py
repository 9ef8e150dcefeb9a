"""One exchange with the agent under test: a message in the words it understands, or a body as it is."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Protocol

from league_sdk.dialects import session
from league_sdk.dialects.answers import Answer, Understanding, read_answer
from league_sdk.dialects.driver import Driver, Failed
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.protocol.messages import MessageType
from league_sdk.transport.client import CallFailed, Client, NotReached, Reply, TimedOut

FIRST_ID = 1001
"""JSON-RPC ids count from here, as chapter 8 shows them."""
CALLBACK_GRACE_S = 0.3
"""How long an answer by POST is waited for after a reply that says nothing, before other words are tried."""
MOST_SILENCES = 3
NO_CONTENT = 204
_ASKING = (MessageType.GAME_INVITATION, MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)


class Callbacks(Protocol):
    """Someone who listens for answers that come as a POST to ``referee_endpoint``."""

    @property
    def endpoint(self) -> str:
        """The address named to the agent."""
        ...

    async def heard(self, match_id: str, asked: str, *, limit_s: float) -> Mapping[str, Any] | None:
        """The answer to a message of type ``asked`` in a match, waiting at most ``limit_s`` seconds for it."""
        ...


class Stopped(Exception):
    """The check ends here; the text says why."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was sent and what came of it.

    Attributes:
        sent: the body.
        shape: the way of speaking.
        status: of the HTTP answer, None when there was none.
        came: the decoded answer, or why it could not be read.
        answer: the message read out of it.
        understanding: what the answer says; None when none came.
        failure: why no answer came.
        timed_out: whether that was for lack of time.
        elapsed_ms: from sending to the answer or to giving up.
        readable: whether the answer was JSON.
        by_callback: the answer came as a POST.
        rpc_id: of the request.
    """

    sent: Any
    shape: str = ""
    status: int | None = None
    came: Any = None
    answer: Answer = field(default_factory=lambda: Answer({}, None, ()))
    understanding: Understanding | None = None
    failure: str = ""
    timed_out: bool = False
    elapsed_ms: int = 0
    readable: bool = False
    by_callback: bool = False
    rpc_id: int | str = 0

    @property
    def message(self) -> Mapping[str, Any]:
        """The fields of the answer."""
        return self.answer.message

    @property
    def answered(self) -> bool:
        """Whether what was asked for is in it."""
        return self.understanding is Understanding.ANSWERED

    def in_words(self) -> str:
        """What came, for a sentence."""
        if self.failure:
            return self.failure
        if not self.readable:
            return f"HTTP {self.status} with a body that is no JSON"
        refused = self.answer.refused
        if isinstance(refused, Mapping):
            return f"error {refused.get('code')!r:.20}: {str(refused.get('message'))[:120]}"
        if refused is not None:
            return f"an error: {str(refused)[:120]}"
        return f"HTTP {self.status}" if self.status != 200 else "an answer that does not say it"


class Line:
    """The line to one agent.

    Args:
        url: its address.
        client: the transport, with its policy.
        memory: what is found out about the agent's ways.
        overall_s: seconds for the whole check.
        callbacks: who listens for answers by POST.
    """

    def __init__(
        self, url: str, client: Client, *, memory: Memory, overall_s: float, callbacks: Callbacks | None = None
    ) -> None:
        self.url = url
        self.client = client
        self.memory = memory
        self._callbacks = callbacks
        self._ids = count(FIRST_ID)
        self._end = time.monotonic() + overall_s
        self._silences = 0
        self._refusals = 0
        self.ever_answered = False
        self.ever_json = False
        self.answers_by_post = False

    @property
    def at(self) -> str:
        """Where it really listens."""
        return self.memory.url or self.url

    def next_id(self) -> int:
        """The next JSON-RPC id."""
        return next(self._ids)

    def left_s(self) -> float:
        """Seconds left for the check."""
        return self._end - time.monotonic()

    async def ask(
        self,
        message: Mapping[str, Any],
        *,
        limit_s: float,
        choice_field: str = "",
        patient: bool = True,
        probe: bool = False,
    ) -> Exchange:
        """Say something in every way until it is answered, as a referee would.

        Args:
            message: canonical.
            limit_s: seconds for all spellings together.
            choice_field: the game's name for a move.
            patient: try every spelling; else only the likeliest.
            probe: forget what the answer teaches: it is not one to a message of the league.

        Returns:
            The exchange that brought the answer; without one the first that was understood at all, or the first.

        Raises:
            Stopped: the agent is gone, or the time of the check is used up.
        """
        memory = copy.deepcopy(self.memory) if probe else self.memory
        hunt = Hunt(message, url=self.url, memory=memory, choice_field=choice_field, patient=patient)
        begun = time.monotonic()

        async def send(proposal: Proposal, _: float) -> Reply:
            return await self._post(proposal.url, proposal.body, limit_s, begun)

        # No limit of the driver's own: a request that comes too late is one that was not answered within the limit.
        driver = Driver(hunt, send, failures=CallFailed, limit_s=math.inf, next_id=self.next_id)
        seen: list[Exchange] = []
        async for step in driver:
            sent = Exchange(step.proposal.body, step.proposal.shape, elapsed_ms=_ms(begun), rpc_id=step.proposal.rpc_id)
            if isinstance(step, Failed):
                seen.append(_unanswered(sent, step.error, limit_s))
                break
            exchange = _replied(sent, step.reply, step.answer, step.understanding)
            seen.append(exchange)
            if exchange.answered and "message_type" in exchange.message:
                return exchange
            heard = await self._heard(message, exchange, limit_s - (time.monotonic() - begun))
            if heard is not None:
                hunt.learn(step.proposal)
                return heard
            if exchange.answered or (self._callbacks and _promises(exchange)):
                return exchange
        return _most_telling(seen)

    async def call(self, body: Any, *, limit_s: float, rpc_id: int = 0) -> Exchange:
        """Send a body as it is and read what comes.

        Raises:
            Stopped: as :meth:`ask`.
        """
        begun = time.monotonic()
        came: Reply | CallFailed
        try:
            came = await self._post(self.at, body, limit_s, begun)
        except CallFailed as error:
            came = error
        shown = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        sent = Exchange(shown, elapsed_ms=_ms(begun), rpc_id=rpc_id)
        if isinstance(came, CallFailed):
            return _unanswered(sent, came, limit_s)
        return _replied(sent, came, read_answer(came.body, rpc_id=rpc_id))

    async def _post(self, url: str, body: Any, limit_s: float, begun: float) -> Reply:
        if self.left_s() <= 0:
            raise Stopped("the time of the check is used up")
        left = limit_s - (time.monotonic() - begun)
        limit = max(min(left, self.left_s()), 0.001)
        try:
            post = partial(self.client.post, url)
            reply = await session.through(post, body, self.memory, self.next_id, limit_s=limit)
        except CallFailed as error:
            if isinstance(error, TimedOut) and limit < left:
                raise Stopped("the time of the check is used up") from None
            self._refusals += isinstance(error, NotReached)
            self._silences += isinstance(error, TimedOut)
            raise
        self._silences = self._refusals = 0
        self.ever_answered = True
        self.ever_json |= not reply.problem
        return reply

    def extend(self, seconds: float) -> None:
        """Allow requests for so long from now, also where the time of the check is used up."""
        self._end = max(self._end, time.monotonic() + seconds)

    def check_alive(self) -> None:
        """End the check for an agent that is not there.

        Raises:
            Stopped: it refuses connections, or has not answered three times in a row.
        """
        if self._refusals and not self.ever_answered:
            raise Stopped("the address cannot be reached")
        if self._refusals > 1:
            raise Stopped("the agent takes no connections any more")
        if self._silences >= MOST_SILENCES:
            raise Stopped(f"{MOST_SILENCES} requests in a row were not answered")

    async def _heard(self, message: Mapping[str, Any], after: Exchange, left_s: float) -> Exchange | None:
        """An answer by POST to the referee's address."""
        kind = message["message_type"]
        if self._callbacks is None or kind not in _ASKING or after.understanding is Understanding.NOT_UNDERSTOOD:
            return None
        # A receipt promises an answer; after a reply that says nothing it is only possible.
        limit = left_s if _promises(after) else min(left_s, CALLBACK_GRACE_S)
        begun = time.monotonic()
        found = await self._callbacks.heard(message["match_id"], kind, limit_s=max(limit, 0))
        if found is None:
            return None
        self.answers_by_post = True
        return replace(
            after,
            came=dict(found),
            answer=Answer(dict(found), None, ()),
            understanding=Understanding.ANSWERED,
            elapsed_ms=after.elapsed_ms + _ms(begun),
            by_callback=True,
        )


def _unanswered(sent: Exchange, error: CallFailed, limit_s: float) -> Exchange:
    timed_out = isinstance(error, TimedOut)
    # Said as the limit of the whole exchange: its spellings share it.
    return replace(sent, failure=f"no answer within {limit_s:g} s" if timed_out else str(error), timed_out=timed_out)


def _replied(sent: Exchange, reply: Reply, answer: Answer, found: Understanding | None = None) -> Exchange:
    readable = not reply.problem
    came = reply.body if readable else f"(no JSON) {reply.problem}"
    return replace(sent, status=reply.status, came=came, answer=answer, understanding=found, readable=readable)


def _promises(exchange: Exchange) -> bool:
    """Whether a reply says that an answer will come; an empty one to a body without id is JSON-RPC's to a
    notification."""
    noted = exchange.status == NO_CONTENT and isinstance(exchange.sent, Mapping) and "id" not in exchange.sent
    return exchange.understanding is Understanding.RECEIPT and not noted


def _most_telling(seen: list[Exchange]) -> Exchange:
    """Of exchanges without an answer: a failure of the line, else a receipt, else the first."""
    if not seen:
        return Exchange(None, failure="it has no tool for this", understanding=Understanding.NOT_UNDERSTOOD)
    if seen[-1].status is None:
        return seen[-1]
    for exchange in seen:
        if _promises(exchange):
            return exchange
    return seen[0]


def _ms(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
