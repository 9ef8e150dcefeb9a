"""Ask a player once: hunt for its dialect, wait for a POST of its own, and return the outcome.

Referees ask players so in matches, and the check asks so outside them: an agent that is understood by one is understood
by the other. No I/O of its own: the driver's caller sends.

An agent that has said that it is ready for its games, and answers an invitation with neither yes nor no, is taken to
accept it: such agents may not know invitations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from league_sdk.asking.call_result import CallResult, result_of_failure, result_of_reply
from league_sdk.dialects.answers import Understanding, accepted
from league_sdk.dialects.driver import Driver, Failed, Replied
from league_sdk.dialects.hunt import ASIDE
from league_sdk.dialects.kept import CALLED_BACK
from league_sdk.dialects.shapes import CANONICAL
from league_sdk.dialects.words import READY
from league_sdk.protocol.calls import Broken
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.tokens import redact

MAX_REQUESTS_IF_READY = 2
"""The limit for the requests of one invitation to an agent that has said that it is ready for its games."""
RECEIPT_SHARE = 0.5
"""After a receipt, the answer is waited for during this share of the time left, before another dialect is tried."""
VAGUE_SHARE = 0.1
"""The same share after a reply that says success and nothing else (:attr:`Understanding.VAGUE`)."""
Sleep = Callable[[float], Awaitable[object]]
Outcome = tuple[CallResult, Replied | Failed | None]
"""The result of a hunt, and the reply or the failure that decided it; neither when it was out of time."""


async def hunt(driver: Driver, *, sleep: Sleep) -> Outcome:
    """Try one dialect after another until one brings an answer.

    It is cancelled with :data:`CALLED_BACK` when the answer comes by a POST of the player's own.

    Args:
        sleep: waits for such a POST, for this many seconds.
    """
    hunted = driver.hunt
    is_invitation = hunted.message["message_type"] == MessageType.GAME_INVITATION
    is_ready = is_invitation and READY in hunted.memory.spoken
    if is_ready:
        hunted.max_requests = MAX_REQUESTS_IF_READY
    try:
        result, step = await _pursue(driver, sleep)
    except asyncio.CancelledError as cancelled:
        if cancelled.args == (CALLED_BACK,):
            hunted.called_back()
        raise
    if is_ready and result.http_status is not None and accepted(result.message) is None:
        # The agent said that it is ready for its games, and does not know invitations: it is in the match, and will be
        # asked for its move.
        result = replace(
            result, message={"accept": True}, error_code=None, problem="", cause=None, detail="",
            notes=(*result.notes, note(Code.SAID_READY)), limited=None, overasked=False,
        )  # fmt: skip
    return result, step


async def _pursue(driver: Driver, sleep: Sleep) -> Outcome:
    declined: Replied | None = None
    failed: Replied | Failed | None = None
    acknowledged: Replied | None = None
    async for step in driver:
        if isinstance(step, Failed):
            failed = step
            if not isinstance(step.error, Broken):
                return result_of_failure(step.error, driver), step
            # Some servers close the connection when they do not know a method; they may know another one.
            driver.hunt.give_up(step.proposal)
        elif step.understanding is Understanding.ANSWERED:
            return result_of_reply(step, driver), step
        elif step.understanding is Understanding.NOT_UNDERSTOOD:
            # Reported is what the agent said to the first dialect, or to the canonical one if that was tried later.
            is_reported = step.proposal.method not in ASIDE and (failed is None or step.proposal.shape == CANONICAL)
            if accepted(step.answer.message) is False and not driver.hunt.rate_limited:
                # It said no, in a way that may also mean that it did not understand.
                declined = step
            elif driver.hunt.rate_limited or is_reported:
                failed = step
        else:
            if acknowledged is None or acknowledged.understanding is Understanding.VAGUE:
                acknowledged = step
            if driver.hunt.awaits_callback:
                break
            share = RECEIPT_SHARE if step.understanding is Understanding.RECEIPT else VAGUE_SHARE
            await sleep(max(0.0, driver.left_s) * share)
    if acknowledged is not None:
        # The agent may have understood the message and POST its answer until the time is over.
        await sleep(max(0.0, driver.left_s))
        # Redact before cutting: a part of a token would not be recognised as one.
        seen = note(Code.NO_ANSWER_IN_REPLY, seen=redact(str(acknowledged.reply.body))[:80])
        silence = result_of_failure(None, driver)
        return replace(silence, problem=seen, detail=seen, cause=None, http_status=200), acknowledged
    if declined is not None:
        result = result_of_reply(declined, driver)
        return replace(result, message=declined.answer.message, error_code=None, problem=""), declined
    return _failure_of(failed, driver), failed


def _failure_of(step: Replied | Failed | None, driver: Driver) -> CallResult:
    """The failure of a hunt; one that has ended for lack of time counts as one that brought no answer in time."""
    if not isinstance(step, Replied):
        return result_of_failure(None if step is None else step.error, driver)
    failure = result_of_reply(step, driver)
    is_unfinished = failure.error_code == "E002" and driver.hunt.has_more
    return replace(failure, error_code="E001") if is_unfinished else failure
