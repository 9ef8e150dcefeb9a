"""Send what may need more than one try: starts of matches, and announcements to referees that start matches on them.

It uses no database: the outcome is returned to the conductor.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

from league_sdk.dialects import starts
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.driver import Driver, Failed
from league_sdk.protocol.errors import TokenInvalid
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import redact
from league_sdk.transport.client import CallFailed, Line, NotReached, TimedOut
from matches.conducting.outgoing import Start
from matches.conducting.parcels import Parcel


@dataclass(frozen=True, slots=True)
class StartResult:
    """The outcome of a start.

    Attributes:
        problem: why the match was not taken; empty if it was.
        refused: the referee answered with an error, and not merely that it is busy.
        way: the spelling that a student's referee understood.
        cause: whose side caused the problem: the referee's, or ours.
        in_doubt: no answer came; the referee may be playing the match.
    """

    problem: Note | str = ""
    refused: bool = False
    way: str = ""
    cause: Cause = Cause.REFEREE
    in_doubt: bool = False


async def send_start(client: Line, start: Start, *, limit_s: float) -> StartResult:
    """Start a match at its referee within ``limit_s`` seconds, in as many spellings as needed (ruling, section 10)."""
    return await (
        _send_start_to_foreign(client, start, limit_s) if start.foreign else _send_start_to_own(client, start, limit_s)
    )


def _bearer(token: str) -> dict[str, Any]:
    """The Authorization header for a referee of ours, whose door serves the league manager before all others."""
    return {"headers": {"authorization": f"Bearer {token}"}} if token else {}


def _not_called(error: CallFailed) -> StartResult:
    return StartResult(error.problem, cause=Cause.LEAGUE if error.cause is Cause.LEAGUE else Cause.REFEREE)


async def _send_start_to_own(client: Line, start: Start, limit_s: float) -> StartResult:
    try:
        reply = await client.post(start.endpoint, start.tries[0].body, limit_s=limit_s, **_bearer(start.bearer))
    except CallFailed as error:
        # A connection that was not accepted in time does not mean that the referee is gone.
        unknown = error.connected or start.sent_before or isinstance(error, TimedOut)
        return replace(_not_called(error), in_doubt=unknown)
    if not isinstance(reply.body, dict) or reply.body.keys().isdisjoint(("result", "error")):
        # Perhaps the answer of a proxy that has passed the start on and timed out.
        return StartResult(note(Code.NO_REFEREE_REPLY, status=reply.status), in_doubt=True)
    result = reply.body.get("result")
    if isinstance(result, dict) and result.get("accepted") is not False:
        return StartResult()
    # ``accepted: false`` means that the referee is busy, and E012 that it has just registered again and expects another
    # token; any other answer means that it cannot take this match.
    refused = not isinstance(result, dict) and not _knows_another_token(reply.body)
    return StartResult(_refusal(START_MATCH, str(reply.body)[:120]), refused=refused)


def _knows_another_token(body: Any) -> bool:
    error = body.get("error") if isinstance(body, dict) else None
    data = error.get("data") if isinstance(error, dict) else None
    return isinstance(data, dict) and data.get("error_code") == TokenInvalid.error_code


async def _send_start_to_foreign(client: Line, start: Start, limit_s: float) -> StartResult:
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
        except TimedOut:
            # Some referees play the whole match before they answer. The lease limits how long.
            return StartResult()
        except CallFailed as error:
            return _not_called(error)
        offer, why = starts.read_reply(reply.body, status=reply.status, readable=not reply.problem, rpc_id=one.rpc_id)
        if offer is starts.Offer.TAKEN:
            return StartResult(way=one.way)
        if offer is not starts.Offer.NOT_UNDERSTOOD:
            return StartResult(_refusal(one.way, why), refused=offer is starts.Offer.FAILED)
    tried = ", ".join([*starts.METHODS, MessageType.ROUND_ANNOUNCEMENT])
    return StartResult(note(Code.NO_WAY_TO_START, sentence=tried), refused=True)


def _refusal(way: str, said: str) -> Note:
    return note(Code.REFUSED, sentence=way, said=redact(said))


async def send_broadcast(client: Line, parcel: Parcel) -> dict[str, str]:
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
        failures=NotReached,
        limit_s=parcel.limit_s,
        next_id=partial(next, count(parcel.delivery_pk * 100)),
    )
    async for step in driver:
        if isinstance(step, Failed):
            # So that the next try begins with the same shape.
            parcel.hunt.take_back()
            raise step.error
        if step.understanding is Understanding.ANSWERED:
            # Starts go to the address that the referee registered: what it understands elsewhere does not help.
            here = step.proposal.url == parcel.endpoint
            return {MessageType.ROUND_ANNOUNCEMENT: step.proposal.shape} if here else {}
    return {}
