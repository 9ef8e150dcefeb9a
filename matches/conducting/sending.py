"""Send starts of matches, and broadcasts to referees; each in as many ways of speaking as the referee needs.

It uses no database: the outcome is returned to the conductor.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any

from league_sdk.dialects import starts
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.driver import Driver, Failed
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import TokenInvalid
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import Way
from league_sdk.protocol.messages import START_MATCH, START_MATCHES, MessageType
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import redact
from league_sdk.transport.client import CallFailed, NotReached, SupportsPost, TimedOut
from matches.conducting.outgoing import Start
from matches.conducting.parcels import Parcel


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a conductor waits, in seconds.

    Attributes:
        retry_s: before it tries a message again.
        line_s: with a broadcast for a player whose line was open a moment ago. A web process that stalls or is started
            again takes the lines of its players along; they are back within this time.
        ping_s: for the answer to a ping: a hundred agents are pinged at once, and a person waits for the result.
    """

    retry_s: float = 1.0
    line_s: float = 15.0
    ping_s: float = 2.0


@dataclass(frozen=True, slots=True)
class StartResult:
    """The outcome of a start.

    Attributes:
        problem: why the match was not taken, or may not have been; empty if it counts as taken.
        counts: it is a lost attempt: the referee cannot take this match, understood no way of starting one, or could
            not be reached; not that it is busy, expects another token, or that this machine could not call.
        way: the spelling that a student's referee understood.
        cause: whose side caused the problem: the referee's, or ours.
        in_doubt: no answer of the referee came; it may be playing the match.
    """

    problem: Note | str = ""
    counts: bool = False
    way: str = ""
    cause: Cause = Cause.REFEREE
    in_doubt: bool = False


async def send_starts(client: SupportsPost, starts: Sequence[Start], *, limit_s: float) -> list[StartResult]:
    """Start matches at their referee within ``limit_s`` seconds (ruling, section 10); the outcome of each, in order.

    Args:
        starts: several only for a referee that takes several in one call; for one that does not call
            ``report_progress``, one start in as many spellings as needed.
    """
    first = starts[0]
    if len(starts) > 1:
        return await _send_together(client, starts, limit_s)
    if first.sends_progress:
        return [await _send_start(client, first, limit_s)]
    return [await _send_in_spellings(client, first, limit_s)]


def _bearer(token: str) -> dict[str, Any]:
    """The Authorization header, by which a referee of the site serves the league manager before all other callers."""
    return {"headers": {"authorization": f"Bearer {token}"}} if token else {}


def _not_called(error: CallFailed) -> StartResult:
    ours = error.cause is Cause.LEAGUE
    counts = not (ours or error.maybe_offline)
    return StartResult(error.problem, counts=counts, cause=Cause.LEAGUE if ours else Cause.REFEREE)


async def _send_start(client: SupportsPost, start: Start, limit_s: float) -> StartResult:
    body = rpc.encoded_call(START_MATCH, start.message, start.match_pk)
    try:
        reply = await client.post(start.endpoint, body, limit_s=limit_s, **_bearer(start.bearer))
    except CallFailed as error:
        return _no_answer(error, start)
    if not isinstance(reply.body, dict) or reply.body.keys().isdisjoint(("result", "error")):
        # Perhaps the answer of a proxy that has passed the start on and timed out.
        return StartResult(note(Code.NO_REFEREE_REPLY, status=reply.status), in_doubt=True)
    result = reply.body.get("result")
    if isinstance(result, dict) and result.get("accepted") is not False:
        return StartResult()
    # ``accepted: false`` means that the referee is busy, and E012 that it has just registered again and expects another
    # token; any other answer means that it cannot take this match.
    refused = not isinstance(result, dict) and _error_code(reply.body) != TokenInvalid.error_code
    return StartResult(_refusal(START_MATCH, str(reply.body)[:120]), counts=refused)


async def _send_together(client: SupportsPost, starts: Sequence[Start], limit_s: float) -> list[StartResult]:
    """Start several matches in one call. A referee of an earlier version does not know it, and gets one call each."""
    first, end = starts[0], time.monotonic() + limit_s
    try:
        reply = await client.post(first.endpoint, _together(starts), limit_s=limit_s, **_bearer(first.bearer))
    except CallFailed as error:
        return [_no_answer(error, start) for start in starts]
    result = reply.body.get("result") if isinstance(reply.body, dict) else None
    answers = result.get("matches") if isinstance(result, dict) else None
    if isinstance(answers, list) and len(answers) == len(starts):
        return [_start_result(answer) for answer in answers]
    # A referee that answers with an error has started nothing. Without its reply it may have started the matches: they
    # can be sent again, as it takes no match twice.
    sent = [replace(start, sent_before=start.sent_before or _error_code(reply.body) is None) for start in starts]
    return await asyncio.gather(*(_send_start(client, one, max(0.001, end - time.monotonic())) for one in sent))


def _together(starts: Sequence[Start]) -> bytes:
    """A call of ``start_matches``, made of messages that are encoded already."""
    around = envelope(
        START_MATCHES.upper(),
        sender=LEAGUE_MANAGER,
        conversation_id=f"conv-starts-{starts[0].match_pk}",
        now=datetime.now(UTC),
        auth_token=starts[0].bearer,
    )
    params = b'%b,"matches":[%b]}' % (rpc.dumps(around)[:-1], b",".join(start.message for start in starts))
    return rpc.encoded_call(START_MATCHES, params, starts[0].match_pk)


def _start_result(answer: Any) -> StartResult:
    """The outcome of one of several starts, from an answer of a referee of the site, which always says ``accepted``."""
    fields = answer if isinstance(answer, dict) else {}
    if fields.get("accepted") is True:
        return StartResult()
    refused = fields.get("accepted") is not False or fields.get("error_code") not in (None, TokenInvalid.error_code)
    return StartResult(_refusal(START_MATCH, str(answer)[:120]), counts=refused)


def _no_answer(error: CallFailed, start: Start) -> StartResult:
    # A connection that was not accepted in time does not mean that the referee is gone.
    unknown = error.connected or start.sent_before or isinstance(error, TimedOut) or site_stalled(error)
    return replace(_not_called(error), in_doubt=unknown)


def site_stalled(error: CallFailed) -> bool:
    """Whether a process of the site stood still, so that nobody knows where the message or its answer is."""
    return error.way is Way.INBOX and error.cause is Cause.LEAGUE


def _error_code(body: Any) -> Any:
    error = body.get("error") if isinstance(body, dict) else None
    data = error.get("data") if isinstance(error, dict) else None
    return data.get("error_code") if isinstance(data, dict) else None


async def _send_in_spellings(client: SupportsPost, start: Start, limit_s: float) -> StartResult:
    end = time.monotonic() + limit_s
    for one in start.tries:
        if one.way == starts.ANNOUNCEMENT and start.announced:
            # The referee understood no other way, and has accepted the announcement: it is playing by now.
            return StartResult(way=one.way)
        left = end - time.monotonic()
        if left <= 0:
            break
        try:
            reply = await client.post(start.endpoint, one.body, limit_s=left)
        except CallFailed as error:
            if error.connected and (isinstance(error, TimedOut) or site_stalled(error)):
                # Some referees play the whole match before they answer. The lease limits how long.
                return StartResult()
            return _not_called(error)
        offer, why = starts.read_reply(reply.body, status=reply.status, readable=not reply.problem, rpc_id=one.rpc_id)
        if offer is starts.Offer.TAKEN:
            return StartResult(way=one.way)
        if offer is not starts.Offer.NOT_UNDERSTOOD:
            return StartResult(_refusal(one.way, why), counts=offer is starts.Offer.FAILED)
    tried = ", ".join([*starts.METHODS, MessageType.ROUND_ANNOUNCEMENT])
    return StartResult(note(Code.NO_WAY_TO_START, sentence=tried), counts=True)


def _refusal(way: str, answer: str) -> Note:
    return note(Code.REFUSED, sentence=way, said=redact(answer))


async def send_broadcast(client: SupportsPost, parcel: Parcel) -> dict[str, str]:
    """Send a broadcast to a referee: once, or, to one that may start matches on it, until it is understood.

    Returns by message type the shape that the referee was found to understand.

    Raises:
        CallFailed: no answer came.
    """
    if parcel.hunt is None:
        for body in (parcel.body, *parcel.also):
            await client.post(parcel.endpoint, body, limit_s=parcel.limit_s, **_bearer(parcel.bearer))
        return {}
    driver = Driver(
        parcel.hunt,
        lambda proposal, left_s: client.post(proposal.url, proposal.body, limit_s=left_s),
        limit_s=parcel.limit_s,
        next_id=partial(next, count(parcel.rpc_id)),
    )
    async for step in driver:
        if isinstance(step, Failed):
            if isinstance(step.error, NotReached):
                # Taken back, so that the next try begins with the same shape.
                parcel.hunt.take_back()
            raise step.error
        if step.understanding is Understanding.ANSWERED:
            # Starts go to the address that the referee registered: what it understands elsewhere does not help.
            is_registered = step.proposal.url == parcel.endpoint
            return {MessageType.ROUND_ANNOUNCEMENT: step.proposal.shape} if is_registered else {}
    return {}
