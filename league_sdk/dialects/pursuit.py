"""Pursue the answer to one message: what is tried next, how long a POST is waited for, and when it ends.

Referees ask players so in matches, and the check asks so outside them: an agent that is understood by one is understood
by the other. No I/O of its own: the driver's caller sends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic

from league_sdk.dialects.answers import Understanding, accepted
from league_sdk.dialects.driver import Driver, E, Failed, R, Replied
from league_sdk.dialects.hunt import ASIDE
from league_sdk.dialects.shapes import CANONICAL

RECEIPT_SHARE = 0.5
"""After a receipt, the answer is waited for during this share of the time left, before another dialect is tried."""
VAGUE_SHARE = 0.1
"""The same share after a reply that says success and nothing else (:attr:`Understanding.VAGUE`)."""


class End(Enum):
    """How a pursuit ended.

    Attributes:
        ANSWERED: with an answer.
        ACKNOWLEDGED: a reply said success without an answer, and no answer came by a POST in the time.
        DECLINED: the agent said no, in a way that may also mean that it did not understand.
        NOT_UNDERSTOOD: no way of speaking was understood.
        FAILED: a request brought no reply.
        OUT_OF_TIME: no request with the message itself could be sent.
    """

    ANSWERED = "answered"
    ACKNOWLEDGED = "acknowledged"
    DECLINED = "declined"
    NOT_UNDERSTOOD = "not understood"
    FAILED = "failed"
    OUT_OF_TIME = "out of time"


@dataclass(frozen=True, slots=True)
class Pursued(Generic[R, E]):
    """How a pursuit ended, and the reply or the failure that decided it; neither when it was out of time."""

    end: End
    reply: Replied[R] | None = None
    failure: Failed[E] | None = None


async def pursue(
    driver: Driver[R, E], *, broke: Callable[[E], bool], sleep: Callable[[float], Awaitable[object]]
) -> Pursued[R, E]:
    """Try one dialect after another until one brings an answer.

    It is cancelled when the answer comes by a POST of the agent's own.

    Args:
        broke: whether a failure means that the connection broke over a request; the agent may understand another one.
        sleep: waits for a POST, for this many seconds.
    """
    declined: Pursued[R, E] | None = None
    failed: Pursued[R, E] | None = None
    acknowledged: Replied[R] | None = None
    async for step in driver:
        if isinstance(step, Failed):
            failed = Pursued(End.FAILED, failure=step)
            if not broke(step.error):
                return failed
            # Some servers close the connection when they do not know a method; they may know another one.
            driver.hunt.give_up(step.proposal)
        elif step.understanding is Understanding.ANSWERED:
            return Pursued(End.ANSWERED, step)
        elif step.understanding is Understanding.NOT_UNDERSTOOD:
            # Reported is what the agent said to the first dialect, or to the canonical one if that was tried later.
            is_reported = step.proposal.method not in ASIDE and (failed is None or step.proposal.shape == CANONICAL)
            if accepted(step.answer.message) is False:
                declined = Pursued(End.DECLINED, step)
            elif driver.hunt.rate_limited or is_reported:
                failed = Pursued(End.NOT_UNDERSTOOD, step)
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
        return Pursued(End.ACKNOWLEDGED, acknowledged)
    return declined or failed or Pursued(End.OUT_OF_TIME)
