"""The result of one call to a player, and how it is made from a reply or a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from league_sdk.dialects.answers import Answer, Understanding
from league_sdk.dialects.driver import Driver, Replied
from league_sdk.dialects.hunt import Proposal
from league_sdk.dialects.shapes import CANONICAL, GUESSES, OF_TOOLS
from league_sdk.protocol.calls import CallFailed, Reply, TimedOut
from league_sdk.protocol.faults import Cause, of_answer
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import Wire

INTERNAL_ERROR = -32603
"""The JSON-RPC code of an error that is the program's own, as HTTP 500 is."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of one try.

    Attributes:
        message: the answer's fields, empty when there was no answer.
        error_code: None for an answer; E001 if none came in time, also if only an acknowledgement did; E009 if the
            connection failed or broke off, if the reply was too large, for a temporary refusal, and for an error of the
            player's own (HTTP 5xx, -32603); E002 for any other reply that is no answer.
        problem: what was wrong, for people.
        elapsed_s: seconds from sending to the answer or to giving up.
        http_status: the status of the answer.
        notes: what was tolerated.
        body: what came, for the transcript.
        connected: whether the message may have arrived.
        cause: why there was no answer, where the error code does not say it all.
        detail: what was seen or understood instead, for people.
        maybe_offline: a machine without a network would fail in the same way.
        excuse: the evidence that this side failed, not the player; empty when there is none.
        limited: the request that the player refused for the moment; the next try begins with it (ruling, section 12).
        overasked: with ``limited``, our own search may have caused that.
        wait_s: with ``limited``, the seconds after which the player wants to be asked again; None if it does not say.
        wire: the requests that were sent for it.
        own_words: the agent's own words in place of an answer (:mod:`league_sdk.protocol.own_words`).
    """

    message: Mapping[str, Any] = field(default_factory=dict)
    error_code: str | None = None
    problem: Note | str = ""
    elapsed_s: float = 0.0
    http_status: int | None = None
    notes: tuple[Note, ...] = ()
    body: Any = None
    connected: bool = True
    cause: Cause | None = None
    detail: Note | str = ""
    maybe_offline: bool = False
    excuse: str = ""
    limited: Proposal | None = None
    overasked: bool = False
    wait_s: float | None = None
    wire: tuple[Wire, ...] = field(default=(), compare=False)
    own_words: str = ""

    @property
    def spoke(self) -> bool:
        """Whether anything came back, which may give a hidden choice away."""
        return self.body is not None or self.http_status is not None

    @property
    def is_error_in_words(self) -> bool:
        """Whether the player answered with an error, and with more than a status."""
        return self.error_code is not None and (self.body is not None or bool(self.own_words))


def result_of_failure(error: CallFailed | None, driver: Driver) -> CallResult:
    """The result when no reply came to the last request; ``error`` is None if there was no time to send one."""
    error = error or TimedOut(note(Code.NOT_IN_TIME), connected=True)
    return CallResult(
        error_code=error.error_code,
        problem=error.problem,
        elapsed_s=driver.elapsed_s,
        connected=error.connected,
        notes=driver.hunt.notes,
        cause=error.cause,
        # The cause says that the time was over. Only of an agent that dials out there is more to say: that it took the
        # message.
        detail="" if error.cause is Cause.DEADLINE and not error.way else error.detail,
        maybe_offline=error.maybe_offline,
        wire=tuple(driver.wire),
        own_words=driver.own_words,
    )


def result_of_reply(step: Replied, driver: Driver) -> CallResult:
    """The result when a reply came, whether the message was understood or not."""
    proposal, reply, answer = step.proposal, step.reply, step.answer
    notes = [*driver.hunt.notes, *reply.notes, *answer.notes]
    code: str | None = None
    cause: Cause | None = None
    problem: Note | str = ""
    detail: Note | str = ""
    if step.understanding is Understanding.NOT_UNDERSTOOD:
        cause = of_answer(status=reply.status, readable=not reply.problem)
        detail = _detail_of(cause, reply, answer)
        failed = reply.status >= 500 or driver.hunt.rate_limited or _is_internal(answer.refused)
        code = "E009" if failed else "E002"
        problem = f"HTTP status {reply.status}" if reply.status >= 500 else note(Code.ANSWERED_ERROR)
        if reply.problem and reply.status < 500:
            problem = f"HTTP {reply.status}: {reply.problem}"
    elif proposal.shape != CANONICAL:
        notes.append(_dialect_note(proposal))
    if proposal.url != driver.hunt.url:
        notes.append(note(Code.FOUND_AT, path=urlsplit(proposal.url).path or "/"))
    return CallResult(
        message={} if code else answer.message,
        error_code=code,
        problem=problem,
        elapsed_s=driver.elapsed_s,
        http_status=reply.status,
        notes=tuple(notes),
        body=reply.body,
        cause=cause,
        detail=detail,
        limited=driver.limited,
        overasked=driver.overasked,
        wait_s=driver.wanted_s,
        wire=tuple(driver.wire),
        own_words=driver.own_words if code else "",
    )


def _is_internal(error: Any) -> bool:
    """Whether a JSON-RPC error says that the player's own program failed."""
    return isinstance(error, Mapping) and error.get("code") == INTERNAL_ERROR


def _detail_of(cause: Cause, reply: Reply, answer: Answer) -> Note | str:
    """What came instead of an answer, for the student."""
    if cause is Cause.HTTP_STATUS:
        return f"HTTP {reply.status}"
    if cause is Cause.NOT_JSON:
        return reply.problem.rstrip(".")
    error = answer.refused
    text = error.get("message") if isinstance(error, Mapping) else error
    return note(Code.ERROR_IN_REPLY, **({"said": repr(redact(str(text))[:100])} if text else {}))


def _dialect_note(proposal: Proposal) -> Note:
    """Says in which dialect the player was asked; the name of a tool is the player's own."""
    if proposal.shape in (*OF_TOOLS, *GUESSES):
        return note(Code.ASKED_TOOL, shape=proposal.shape, tool=proposal.method)
    return note(Code.ASKED_AS, shape=proposal.shape, **({"method": proposal.method} if proposal.method else {}))
