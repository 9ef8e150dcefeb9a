"""What is sent and needs more than one try: the start of a match, the announcement a referee may begin with.

No database: what came of it is handed back to the conductor.
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
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.tokens import redact
from league_sdk.transport.client import CallFailed, Client, NotReached, TimedOut
from matches.conducting.outgoing import Start
from matches.conducting.parcels import Parcel


@dataclass(frozen=True, slots=True)
class Offered:
    """What became of a start.

    Attributes:
        problem: why the match was not taken; empty when it was.
        refused: the referee answered, and with an error; not merely "not now".
        way: the spelling that a foreign referee understood.
        cause: whose side failed where there is a problem: the referee's, or ours.
        in_doubt: no answer came; the referee may be playing it.
    """

    problem: str = ""
    refused: bool = False
    way: str = ""
    cause: Cause = Cause.REFEREE
    in_doubt: bool = False


async def offer(client: Client, start: Start, *, limit_s: float) -> Offered:
    """Start a match at its referee, in every spelling that is needed, within so many seconds (ruling, section 10)."""
    return await (_offer_foreign(client, start, limit_s) if start.foreign else _offer_own(client, start, limit_s))


def _shown(token: str) -> dict[str, Any]:
    """What a referee of ours is shown in the head of a request: its door serves us first, whoever else is calling."""
    return {"headers": {"authorization": f"Bearer {token}"}} if token else {}


def _not_called(error: CallFailed) -> Offered:
    return Offered(str(error), cause=Cause.LEAGUE if error.cause is Cause.LEAGUE else Cause.REFEREE)


async def _offer_own(client: Client, start: Start, limit_s: float) -> Offered:
    try:
        reply = await client.post(start.endpoint, start.tries[0].body, limit_s=limit_s, **_shown(start.shown))
    except CallFailed as error:
        # One that has no place for another connection at the moment is not gone.
        unknown = error.connected or start.sent_before or isinstance(error, TimedOut)
        return replace(_not_called(error), in_doubt=unknown)
    if not isinstance(reply.body, dict) or reply.body.keys().isdisjoint(("result", "error")):
        # Perhaps of a proxy that has passed it on, and waited no longer.
        return Offered(f"no answer of a referee: HTTP {reply.status}", in_doubt=True)
    result = reply.body.get("result")
    if isinstance(result, dict) and result.get("accepted") is not False:
        return Offered()
    # "Not now" is an answer in good order, and one that has just registered again may not know our token yet, or no
    # longer; anything else says that the match cannot be taken.
    refused = not isinstance(result, dict) and not _knows_another_token(reply.body)
    return Offered(redact(f"start_match was refused: {str(reply.body)[:120]}"), refused=refused)


def _knows_another_token(body: Any) -> bool:
    error = body.get("error") if isinstance(body, dict) else None
    data = error.get("data") if isinstance(error, dict) else None
    return isinstance(data, dict) and data.get("error_code") == TokenInvalid.error_code


async def _offer_foreign(client: Client, start: Start, limit_s: float) -> Offered:
    end = time.monotonic() + limit_s
    for one in start.tries:
        if one.way == starts.ANNOUNCEMENT and start.announced:
            # It has understood nothing else, and the announcement was taken: it is playing by now.
            return Offered(way=one.way)
        left = end - time.monotonic()
        if left <= 0:
            break
        try:
            reply = await client.post(start.endpoint, one.body, limit_s=left)
        except TimedOut:
            # Some play the whole match before they answer. Its lease says when that was too long.
            return Offered()
        except CallFailed as error:
            return _not_called(error)
        found, why = starts.read_reply(reply.body, status=reply.status, readable=not reply.problem, rpc_id=one.rpc_id)
        if found is starts.Offer.TAKEN:
            return Offered(way=one.way)
        if found is not starts.Offer.NOT_UNDERSTOOD:
            return Offered(redact(f"{one.way} was refused: {why}"), refused=found is starts.Offer.FAILED)
    names = ", ".join(starts.METHODS)
    return Offered(f"it does not know how to start a match: tried {names}, ROUND_ANNOUNCEMENT", refused=True)


async def deliver(client: Client, parcel: Parcel) -> dict[str, str]:
    """Send a broadcast: once, or, to a referee that may begin with it, until it is understood.

    Returns what was learned: by message type, the shape that was understood.

    Raises:
        CallFailed: nothing was answered.
    """
    if parcel.hunt is None:
        await client.post(parcel.endpoint, parcel.body, limit_s=parcel.limit_s, **_shown(parcel.shown))
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
            # The next try begins with the same words.
            parcel.hunt.take_back()
            raise step.error
        if step.understanding is Understanding.ANSWERED:
            # Matches are started at the address it gave: what it understands elsewhere does not help there.
            here = step.proposal.url == parcel.endpoint
            return {MessageType.ROUND_ANNOUNCEMENT: step.proposal.shape} if here else {}
    return {}
