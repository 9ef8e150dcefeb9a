"""One exchange with the agent under check: a message in a dialect that it understands, or a body as it is."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.hunting import Found, hunt
from league_sdk.dialects import session
from league_sdk.dialects.answers import Answer, Understanding, accepted, read_answer
from league_sdk.dialects.driver import Driver
from league_sdk.dialects.hunt import Hunt, Proposal
from league_sdk.dialects.kept import END_S, KeptSessions
from league_sdk.dialects.memory import Memory
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER
from league_sdk.protocol.notes import Note
from league_sdk.protocol.sentences import Sentence, _, ours, say
from league_sdk.transport.client import Caller, CallFailed, NotReached, Reply, TimedOut

FIRST_ID = 1001
"""JSON-RPC ids count from here, as chapter 8 shows them."""
MAX_TIMEOUTS_IN_A_ROW = 3
_NO_CONNECTION = _("no connection")
_REFUSALS = (_("Connection refused"), _("No route to host"), _("Network is unreachable"), _("Connection reset by peer"))
"""The reasons of the operating system that are translated."""
UNREACHABLE, _USED_UP = _("the address cannot be reached"), _("the time of the check is used up")
PIECES, PIECE_PAUSE_S = 5, 0.1
"""A request that is sent slowly goes out in so many pieces, with a pause before each."""


class Stopped(Exception):
    """The check cannot go on.

    Attributes:
        reason: why.
    """

    def __init__(self, reason: Sentence) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was sent, and what the agent answered.

    Attributes:
        sent: the body of the request; None when the agent sent something unasked.
        status: the HTTP status; None when there was no answer.
        came: the decoded body of the answer, or why it could not be decoded.
        answer: the message that was found in it.
        understanding: whether the answer is what was asked for; None when there was none.
        failure: why there was no answer; empty if there was one.
        timed_out: whether the agent did not answer in time.
        elapsed_ms: milliseconds from sending to the answer or the failure.
        readable: whether the body of the answer was JSON.
        by_callback: whether the answer came as a POST of the agent's own.
        content_type: the Content-Type of the HTTP answer.
        way: a :class:`league_sdk.protocol.inbox.Way`, if it did not go to the agent's address.
        result: what a referee makes of it.
        said_ready: it joins without a yes, because it has said that it is ready for its games.
    """

    sent: Any
    status: int | None = None
    came: Any = None
    answer: Answer = field(default_factory=lambda: Answer({}, None, ()))
    understanding: Understanding | None = None
    failure: Sentence | Note | str = ""
    timed_out: bool = False
    elapsed_ms: int = 0
    readable: bool = False
    by_callback: bool = False
    content_type: str = ""
    way: str = ""
    result: CallResult = field(default_factory=CallResult, compare=False)
    said_ready: bool = False

    @property
    def message(self) -> Mapping[str, Any]:
        """The fields of the answer."""
        return self.answer.message

    @property
    def answered(self) -> bool:
        """Whether the answer has what was asked for."""
        return self.understanding is Understanding.ANSWERED

    @property
    def is_bare(self) -> bool:
        """Whether the answer is a word that confirms, such as RECEIVED, and no message."""
        return self.answered and "message_type" not in self.message

    @property
    def tool_result(self) -> Mapping[str, Any] | None:
        """The result of a tool of MCP, as MCP has it; None if no tool was called, or it was answered otherwise."""
        if not isinstance(self.sent, Mapping) or self.sent.get("method") != "tools/call":
            return None
        result = self.came.get("result") if isinstance(self.came, Mapping) else None
        return result if isinstance(result, Mapping) and isinstance(result.get("content"), list) else None

    @property
    def tool_failed(self) -> bool:
        """Whether a tool of MCP has said that it could not do what it was asked."""
        return self.tool_result is not None and self.tool_result.get("isError") is True

    @property
    def error(self) -> Mapping[str, Any]:
        """The JSON-RPC error in the answer, empty when there is none."""
        return self.answer.refused if isinstance(self.answer.refused, Mapping) else {}

    @property
    def error_data(self) -> Mapping[str, Any]:
        """``error.data``, where a LEAGUE_ERROR stands; empty when there is none."""
        data = self.error.get("data")
        return data if isinstance(data, Mapping) else {}

    def in_words(self) -> Sentence | Note | str:
        """What the agent answered, to be put into a sentence."""
        if self.failure:
            return self.failure
        if not self.readable:
            return say(_("HTTP {status} with a body that is no JSON"), status=self.status)
        if self.error:
            code, message = f"{self.error.get('code')!r:.20}", str(self.error.get("message"))[:120]
            return say(_("error {code}: {message}"), code=code, message=message)
        if self.answer.refused is not None:
            return say(_("an error: {message}"), message=str(self.answer.refused)[:120])
        if self.tool_failed:
            return say(_("an error: {message}"), message=_text_of(self.tool_result)[:120])
        if self.answered and accepted(self.message) is False:
            return say(_("it refused"))
        return f"HTTP {self.status}" if self.status != 200 else say(_("an answer that does not say it"))


class Line:
    """Sends requests to one agent, within the time limit of its check.

    Args:
        url: its address.
        client: the transport, with its policy; it sends what the league manager sends.
        memory: what is known of the agent's dialects.
        overall_s: seconds for the whole check.

    Attributes:
        hears: whether answers are heard that the agent sends by a POST of its own.
        dials_out: whether the agent fetches what is sent, so that nothing can be sent but JSON-RPC requests.
    """

    def __init__(self, url: str, client: Caller, *, memory: Memory, overall_s: float) -> None:
        self.url = url
        self.dials_out = False
        self.memory = memory
        self.hears = False
        self.ever_json = False
        self.is_overtaken: Callable[[], bool] = lambda: False
        # A match is judged by another program than the league manager, with connections of its own.
        self._client, self._referee = client, client.under_same_policy("referee")
        self._requests: set[asyncio.Future[Reply]] = set()
        self._sessions = KeptSessions(self._delete)
        self._ids = count(FIRST_ID)
        self._end = time.monotonic() + overall_s
        self.timeouts = 0
        self._refusals = 0
        self._ever_answered = False

    def next_id(self) -> int:
        """The next JSON-RPC id."""
        return next(self._ids)

    def left_s(self) -> float:
        """How many seconds of the check are left."""
        return self._end - time.monotonic()

    def extend(self, seconds: float) -> None:
        """Allow requests for so many seconds from now, even if the time of the check is used up or it is overtaken."""
        self.is_overtaken = lambda: False
        self._end = max(self._end, time.monotonic() + seconds)

    async def ask(  # noqa: PLR0913 - every argument but the message has a default
        self,
        message: Mapping[str, Any],
        *,
        limit_s: float,
        choice_field: str = "",
        patient: bool = True,
        probe: bool = False,
        slowly: bool = False,
        only: Proposal | None = None,
    ) -> Exchange:
        """Send a message in one dialect after the other until it is answered, as a referee does.

        Args:
            message: in its canonical form.
            limit_s: seconds for all dialects together.
            choice_field: the game's name for a move.
            patient: try every dialect, not only the likeliest.
            probe: do not remember the dialect: the message is not one of the league's.
            slowly: send it in pieces.
            only: the one request to try.

        Returns the exchange with the answer; if there is none, the one that a referee would decide by.
        Raises :class:`Stopped` where the time of the check is used up.
        """
        memory = copy.deepcopy(self.memory) if probe else self.memory
        hunted = Hunt(message, url=self.url, memory=memory, choice_field=choice_field, patient=patient, only=only)
        client = self._client if message["sender"] == LEAGUE_MANAGER else self._referee

        async def send(proposal: Proposal, left_s: float) -> Reply:
            post = partial(_post_slowly, client, proposal.url) if slowly else partial(client.post, proposal.url)
            return await self._send(post, proposal.body, memory, left_s)

        driver = Driver(hunted, send, failures=CallFailed, limit_s=limit_s, next_id=self.next_id)
        result, found = await hunt(driver, sleep=asyncio.sleep if self.hears else _no_wait)
        return _found(result, found, limit_s)

    async def call(self, body: Any, *, limit_s: float) -> Exchange:
        """Send a body as it is and read the answer.

        Raises:
            Stopped: as :meth:`ask`.
        """
        begun = time.monotonic()
        shown = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        rpc_id = body.get("id", 0) if isinstance(body, Mapping) else 0
        try:
            reply = await self._send(
                partial(self._client.post, self.memory.url or self.url), body, self.memory, limit_s
            )
        except CallFailed as error:
            return _unanswered(Exchange(shown, elapsed_ms=_ms(time.monotonic() - begun)), error, limit_s)
        sent = Exchange(shown, elapsed_ms=_ms(time.monotonic() - begun))
        return _replied(sent, reply, read_answer(reply.body, rpc_id=rpc_id))

    async def post(
        self, body: Any, *, holder: Memory, limit_s: float, headers: Mapping[str, str] | None
    ) -> tuple[Reply, Exchange]:
        """Send a body as it is, with headers; a session that its answer begins is ``holder``'s.

        Raises:
            Stopped: as :meth:`ask`.
            CallFailed: no answer came.
        """
        begun = time.monotonic()
        post = partial(self._client.post, self.memory.url or self.url, body, headers=headers)
        reply = await self._counted(post, holder, limit_s)
        sent = Exchange(body, elapsed_ms=_ms(time.monotonic() - begun))
        return reply, _replied(sent, reply, read_answer(reply.body, rpc_id=body.get("id", 0)))

    def keep(self, holder: Memory) -> None:
        """End the session of a holder, if it has one, when the check is over."""
        # A session is the agent's as a whole: it is ended at the address that it registered.
        self._sessions.use(holder, self.memory.url or self.url)

    async def _send(self, post: Callable[..., Awaitable[Reply]], body: Any, memory: Memory, left_s: float) -> Reply:
        return await self._counted(partial(session.through, post, body, memory, self.next_id), memory, left_s)

    async def _counted(self, send: Callable[..., Awaitable[Reply]], memory: Memory, left_s: float) -> Reply:
        if self.is_overtaken():
            raise Stopped(say(_("the agent is due in a match")))
        if self.left_s() <= 0:
            raise Stopped(say(_USED_UP))
        limit = max(min(left_s, self.left_s()), 0.001)
        request = asyncio.ensure_future(send(limit_s=limit))
        self._requests.add(request)
        request.add_done_callback(self._ended)
        request.add_done_callback(lambda _: self.keep(memory))
        try:
            reply = await asyncio.shield(request)
        except CallFailed as error:
            if isinstance(error, TimedOut) and limit < left_s:
                raise Stopped(say(_USED_UP)) from None
            self.count(error)
            raise
        self.count(None)
        self.ever_json |= not reply.problem
        return reply

    def count(self, error: CallFailed | None) -> None:
        """Note that a request was answered, or why it was not."""
        if error is None:
            self.timeouts = self._refusals = 0
            self._ever_answered = True
        else:
            self._refusals += isinstance(error, NotReached)
            self.timeouts += isinstance(error, TimedOut)

    async def _delete(self, url: str, headers: Mapping[str, str]) -> None:
        await self._client.delete(url, headers, limit_s=END_S)

    def _ended(self, request: asyncio.Future[Reply]) -> None:
        self._requests.discard(request)
        if not request.cancelled():
            # Retrieve the exception, so that asyncio does not log it as unhandled.
            request.exception()

    async def aclose(self) -> None:
        """End requests that are still under way and MCP sessions, and close the referee's connections."""
        for request in list(self._requests):
            request.cancel()
        await asyncio.gather(*self._requests, return_exceptions=True)
        await self._sessions.aclose()
        await self._referee.aclose()

    def check_alive(self) -> None:
        """Stop the check of an agent that cannot be reached any more.

        Raises:
            Stopped: it refuses connections, or has not answered three times in a row.
        """
        if self._refusals and not self._ever_answered:
            raise Stopped(say(_("it was not connected") if self.dials_out else UNREACHABLE))
        if self._refusals > 1:
            silent, closed = _("the agent is not connected any more"), _("the agent takes no connections any more")
            raise Stopped(say(silent if self.dials_out else closed))
        if self.timeouts >= MAX_TIMEOUTS_IN_A_ROW:
            raise Stopped(say(_("{max} requests in a row were not answered"), max=MAX_TIMEOUTS_IN_A_ROW))


async def _in_pieces(raw: bytes) -> AsyncIterator[bytes]:
    size = max(1, -(-len(raw) // PIECES))
    for start in range(0, len(raw), size):
        await asyncio.sleep(PIECE_PAUSE_S)
        yield raw[start : start + size]


def _unanswered(sent: Exchange, error: CallFailed, limit_s: float) -> Exchange:
    timed_out = isinstance(error, TimedOut)
    # Name the limit of the whole exchange, which all dialects share.
    taken, silent = _("it took the message and did not answer within {limit} s"), _("no answer within {limit} s")
    limit = f"{limit_s:g}"
    failure = say(taken if error.way else silent, limit=limit) if timed_out else _in_words(error.problem)
    return replace(sent, failure=failure, timed_out=timed_out, way=error.way)


def _in_words(problem: Note | str) -> Sentence | Note | str:
    """A problem of the transport; of the texts only those about connections are ours."""
    if problem == _NO_CONNECTION:
        return say(_NO_CONNECTION)
    head, _colon, reason = str(problem).partition(": ")
    if head == _NO_CONNECTION:
        return say(_("no connection: {reason}"), reason=ours(reason, _REFUSALS))
    return problem


def answered_by_post(sent: Exchange, message: Mapping[str, Any]) -> Exchange:
    """The exchange with what the agent sent by a POST of its own for an answer."""
    answered = Understanding.ANSWERED
    sent = replace(sent, came=message, answer=Answer(dict(message), None, ()), understanding=answered)
    return replace(sent, failure="", timed_out=False, readable=True, by_callback=True)


def _found(result: CallResult, found: Found, limit_s: float) -> Exchange:
    elapsed_ms = _ms(result.elapsed_s)
    if found.reply is not None:
        step = found.reply
        sent = Exchange(step.proposal.body, elapsed_ms=elapsed_ms, result=result)
        exchange = _replied(sent, step.reply, step.answer, step.understanding)
        if not exchange.answered and accepted(result.message) is True:
            answer = Answer(dict(result.message), None, ())
            exchange = replace(exchange, answer=answer, understanding=Understanding.ANSWERED, said_ready=True)
        return exchange
    if found.failure is not None:
        sent = Exchange(found.failure.proposal.body, elapsed_ms=elapsed_ms, result=result)
        return _unanswered(sent, found.failure.error, limit_s)
    no_tool, unknown = say(_("it has no tool for this")), Understanding.NOT_UNDERSTOOD
    return Exchange(None, failure=no_tool, understanding=unknown, result=result)


def _replied(sent: Exchange, reply: Reply, answer: Answer, understanding: Understanding | None = None) -> Exchange:
    return replace(
        sent,
        status=reply.status,
        came=f"(no JSON) {reply.problem}" if reply.problem else reply.body,
        answer=answer,
        understanding=understanding,
        readable=not reply.problem,
        content_type=reply.headers.get("content-type", ""),
        way=reply.way,
    )


def _text_of(result: Mapping[str, Any] | None) -> str:
    """The first text in the content of a tool's result."""
    blocks = (result or {}).get("content", ())
    texts = (block.get("text") for block in blocks if isinstance(block, Mapping))
    return next((text for text in texts if isinstance(text, str)), "")


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


async def _no_wait(seconds: float) -> None:
    """Nobody listens for answers by POST, so none is waited for."""


async def _post_slowly(
    client: Caller, url: str, body: Any, *, limit_s: float, headers: Mapping[str, str] | None
) -> Reply:
    raw = rpc.dumps(body)
    sized = {**(headers or {}), "Content-Length": str(len(raw))}
    return await client.post(url, _in_pieces(raw), limit_s=limit_s, headers=sized)
