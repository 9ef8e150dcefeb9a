"""Ask a player once: hunt for its dialect, and return the outcome.

An agent that has said that it is ready for its games, and answers an invitation with neither yes nor no, is taken to
accept it: such agents may not know invitations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from league_sdk.asking.call_result import CallResult, result_of_failure, result_of_reply
from league_sdk.dialects.answers import accepted
from league_sdk.dialects.driver import Driver
from league_sdk.dialects.pursuit import End, Pursued, pursue
from league_sdk.dialects.words import READY
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.tokens import redact
from league_sdk.transport.client import Broken, CallFailed, Reply

CALLED_BACK = "called back"
"""The message that a call is cancelled with when its answer has come by a POST: the call worked."""
MAX_REQUESTS_IF_READY = 2
"""The limit for the requests of one invitation to an agent that has said that it is ready for its games."""
PlayerDriver = Driver[Reply, CallFailed]
PlayerPursuit = Pursued[Reply, CallFailed]


async def hunt(
    driver: PlayerDriver, *, sleep: Callable[[float], Awaitable[object]]
) -> tuple[CallResult, PlayerPursuit]:
    """Try one dialect after another until one brings an answer.

    It is cancelled with :data:`CALLED_BACK` when the answer comes by a POST of the player's own.

    Args:
        sleep: waits for such a POST, for this many seconds.

    Returns the result, and the reply or failure that decided it.
    """
    hunted = driver.hunt
    is_invitation = hunted.message["message_type"] == MessageType.GAME_INVITATION
    is_ready = is_invitation and READY in hunted.memory.spoken
    if is_ready:
        hunted.max_requests = MAX_REQUESTS_IF_READY
    try:
        pursued = await pursue(driver, broke=lambda error: isinstance(error, Broken), sleep=sleep)
    except asyncio.CancelledError as cancelled:
        if cancelled.args == (CALLED_BACK,):
            hunted.called_back()
        raise
    result = _result_of(pursued, driver)
    if is_ready and result.http_status is not None and accepted(result.message) is None:
        # The agent said that it is ready for its games, and does not know invitations: it is in the match, and will be
        # asked for its move.
        result = replace(
            result, message={"accept": True}, error_code=None, problem="", cause=None, detail="",
            notes=(*result.notes, note(Code.SAID_READY)), limited=None,
        )  # fmt: skip
    return result, pursued


def _result_of(pursued: PlayerPursuit, driver: PlayerDriver) -> CallResult:
    if pursued.reply is None:
        return result_of_failure(pursued.failure.error if pursued.failure else None, driver)
    result = result_of_reply(pursued.reply, driver)
    if pursued.end is End.DECLINED:
        return replace(result, message=pursued.reply.answer.message, error_code=None, problem="")
    if pursued.end is End.NOT_UNDERSTOOD:
        return _out_of_time(result, driver)
    if pursued.end is not End.ACKNOWLEDGED:
        return result
    # Redact before cutting: a part of a token would not be recognised as one.
    seen = note(Code.NO_ANSWER_IN_REPLY, seen=redact(str(pursued.reply.reply.body))[:80])
    return replace(result_of_failure(None, driver), problem=seen, detail=seen, cause=None, http_status=200)


def _out_of_time(failure: CallResult, driver: PlayerDriver) -> CallResult:
    """The failure of a hunt; one that has ended for lack of time counts as one that brought no answer in time.

    It keeps the request that the player refused for its rate, if there was one: the next try sends only that one.
    """
    unfinished = driver.hunt.has_more and not driver.hunt.rate_limited
    if failure.error_code != "E002" or not unfinished:
        return failure
    return replace(failure, error_code="E001", limited=driver.limited, wait_s=driver.wanted_s)
