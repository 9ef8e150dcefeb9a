"""Calls the agent under check: sends messages in a dialect that it understands, or bodies as they are."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from functools import partial
from itertools import count
from typing import Any

from league_sdk.asking.hunting import hunt
from league_sdk.conformance.exchange import Exchange, exchange_of, milliseconds, replied, unanswered
from league_sdk.dialects import session
from league_sdk.dialects.answers import read_answer
from league_sdk.dialects.driver import Driver
from league_sdk.dialects.hunt import Hunt, Proposal
from league_sdk.dialects.kept import END_S, KeptSessions
from league_sdk.dialects.memory import Memory
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER
from league_sdk.protocol.sentences import Sentence, _, say
from league_sdk.transport.client import Caller, CallFailed, NotReached, Reply, TimedOut

FIRST_ID = 1001
"""JSON-RPC ids count from here, as in the examples of 004 chapter 8."""
MAX_TIMEOUTS_IN_A_ROW = 3
UNREACHABLE, _USED_UP = _("the address cannot be reached"), _("the time of the check is used up")
PIECES, PIECE_PAUSE_S = 5, 0.1
"""A request that is sent slowly is divided into this many pieces, with a pause before each."""


class Stopped(Exception):
    """The check cannot go on.

    Attributes:
        reason: why.
    """

    def __init__(self, reason: Sentence) -> None:
        super().__init__(str(reason))
        self.reason = reason


class SubjectCaller:
    """Sends requests to one agent, within the time limit of its check.

    Args:
        url: the agent's address.
        client: the transport, with its policy; it sends what the league manager sends.
        memory: what is known of the agent's dialects.
        overall_s: seconds for the whole check.

    Attributes:
        hears_posts: whether the check has a port for answers that the agent sends by a POST of its own.
        dials_out: whether the agent fetches its messages, so that nothing but JSON-RPC requests can be sent to it.
        ever_json: whether any answer so far was JSON.
        is_overtaken: whether the agent is due in a match, which ends the check.
        timeouts: how many requests have timed out since the last answer.
    """

    def __init__(self, url: str, client: Caller, *, memory: Memory, overall_s: float) -> None:
        self.url = url
        self.dials_out = False
        self.memory = memory
        self.hears_posts = False
        self.ever_json = False
        self.is_overtaken: Callable[[], bool] = lambda: False
        # A match is judged by another program than the league manager, with connections of its own.
        self._client, self._referee = client, client.under_same_policy("referee")
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
        """Allow requests for this many seconds from now, even if the check is out of time or was interrupted."""
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
        first: Proposal | None = None,
    ) -> Exchange:
        """Send a message in one dialect after the other until it is answered, as a referee does.

        Args:
            message: in its canonical form.
            limit_s: seconds for all dialects together.
            choice_field: the game's name for a move.
            patient: try every dialect; otherwise only the likeliest.
            probe: forget the dialect afterwards: the message is one that no league sends.
            slowly: send the request in pieces, with pauses.
            first: the request to begin with, which was refused for the moment.

        Returns the exchange with the answer; if there is none, the one that a referee would decide by.
        Raises :class:`Stopped` where the time of the check is used up, or the agent is due in a match.
        """
        memory = copy.deepcopy(self.memory) if probe else self.memory
        hunted = Hunt(message, url=self.url, memory=memory, choice_field=choice_field, patient=patient, first=first)
        client = self._client if message["sender"] == LEAGUE_MANAGER else self._referee

        async def send(proposal: Proposal, left_s: float) -> Reply:
            post = partial(_post_slowly, client, proposal.url) if slowly else partial(client.post, proposal.url)
            return await self._send(post, proposal.body, memory, left_s)

        driver = Driver(hunted, send, limit_s=limit_s, next_id=self.next_id)
        result, step = await hunt(driver, sleep=asyncio.sleep if self.hears_posts else _no_wait)
        return exchange_of(result, step, limit_s)

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
            return unanswered(Exchange(shown, elapsed_ms=milliseconds(time.monotonic() - begun)), error, limit_s)
        sent = Exchange(shown, elapsed_ms=milliseconds(time.monotonic() - begun))
        return replied(sent, reply, read_answer(reply.body, rpc_id=rpc_id))

    async def post(
        self, body: Any, *, session_in: Memory, limit_s: float, headers: Mapping[str, str] | None
    ) -> tuple[Reply, Exchange]:
        """Send a body as it is, with headers.

        A session that the caller keeps in ``session_in`` is ended when the check is over.

        Raises:
            Stopped: as :meth:`ask`.
            CallFailed: no answer came.
        """
        begun = time.monotonic()
        post = partial(self._client.post, self.memory.url or self.url, body, headers=headers)
        reply = await self._send_within_check(post, session_in, limit_s)
        sent = Exchange(body, elapsed_ms=milliseconds(time.monotonic() - begun))
        return reply, replied(sent, reply, read_answer(reply.body, rpc_id=body.get("id", 0)))

    def end_session_later(self, session_in: Memory) -> None:
        """When the check is over, end the session that a memory has now, and none that it had before."""
        # A session is the agent's as a whole: it is ended at the address that it registered.
        self._sessions.use(session_in, self.memory.url or self.url)

    async def _send(self, post: Callable[..., Awaitable[Reply]], body: Any, memory: Memory, left_s: float) -> Reply:
        return await self._send_within_check(partial(session.through, post, body, memory, self.next_id), memory, left_s)

    async def _send_within_check(
        self, send: Callable[..., Coroutine[Any, Any, Reply]], memory: Memory, left_s: float
    ) -> Reply:
        if self.is_overtaken():
            raise Stopped(say(_("the agent is due in a match")))
        if self.left_s() <= 0:
            raise Stopped(say(_USED_UP))
        limit = max(min(left_s, self.left_s()), 0.001)
        url = self.memory.url or self.url
        try:
            reply = await self._sessions.call(memory, url, send(limit_s=limit), limit_s=limit)
        except CallFailed as error:
            if isinstance(error, TimedOut) and limit < left_s:
                raise Stopped(say(_USED_UP)) from None
            self.note_outcome(error)
            raise
        self.note_outcome(None)
        self.ever_json |= not reply.problem
        return reply

    def note_outcome(self, error: CallFailed | None) -> None:
        """Note that a request was answered, or why it was not."""
        if error is None:
            self.timeouts = self._refusals = 0
            self._ever_answered = True
        else:
            self._refusals += isinstance(error, NotReached)
            self.timeouts += isinstance(error, TimedOut)

    async def delete(self, ended: session.Session, *, limit_s: float) -> int | None:
        """DELETE a session that a server of MCP gave; the HTTP status, or None if no answer came."""
        url = self.memory.url or self.url
        return await self._client.delete(url, ended.headers(), limit_s=max(0.001, min(limit_s, self.left_s())))

    async def _delete(self, url: str, headers: Mapping[str, str]) -> None:
        await self._client.delete(url, headers, limit_s=END_S)

    async def aclose(self) -> None:
        """Cancel the requests that are still under way, end MCP sessions, and close the referee's connections."""
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


async def _no_wait(seconds: float) -> None:
    """Nobody listens for answers by POST, so none is waited for."""


async def _post_slowly(
    client: Caller, url: str, body: Any, *, limit_s: float, headers: Mapping[str, str] | None
) -> Reply:
    raw = rpc.dumps(body)
    sized = {**(headers or {}), "Content-Length": str(len(raw))}
    return await client.post(url, _in_pieces(raw), limit_s=limit_s, headers=sized)


async def _in_pieces(raw: bytes) -> AsyncIterator[bytes]:
    size = max(1, -(-len(raw) // PIECES))
    for start in range(0, len(raw), size):
        await asyncio.sleep(PIECE_PAUSE_S)
        yield raw[start : start + size]
