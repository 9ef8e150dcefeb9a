"""What comes of one call to a player, how it is read from a reply or a failure, and the two ways of calling one."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from league_sdk.dialects import rates
from league_sdk.dialects.answers import Answer, Understanding
from league_sdk.dialects.driver import Driver, Replied
from league_sdk.dialects.hunt import Proposal
from league_sdk.dialects.shapes import CANONICAL, OF_TOOLS
from league_sdk.judging.brief import Seat
from league_sdk.protocol.faults import Cause, of_answer
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import Wire
from league_sdk.transport.client import CallFailed, Reply


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one try.

    Attributes:
        message: the answer's fields, empty when there was none.
        error_code: E001 or E009 when no answer came, E002 when what came was none, else None.
        problem: what was wrong, for people.
        elapsed_s: seconds from sending to the answer or to giving up.
        http_status: of the answer.
        notes: what was tolerated.
        body: what came, for the transcript.
        connected: whether the message may have arrived.
        cause: whose fault it is that there was no answer, where the error code does not say it all.
        detail: what was seen or understood instead, for people.
        cut_off: a machine without a network would fail in the same way.
        excuse: what shows that this side failed, not the player; empty when nothing does.
        limited: the request that it refused for a rate, when our own search for its words has led to that; in the next
            try it is to be sent alone (ruling, section 12).
        wait_s: seconds after which it wants to be asked again then; None when it does not say.
        wire: the requests that were sent for it.
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
    cut_off: bool = False
    excuse: str = ""
    limited: Proposal | None = None
    wait_s: float | None = None
    wire: tuple[Wire, ...] = field(default=(), compare=False)

    @property
    def spoke(self) -> bool:
        """Whether the player said something, which may give a hidden choice away."""
        return self.body is not None or self.http_status is not None


class Ask(Protocol):
    """Send a message to a seat and wait for its answer, at most ``limit_s`` seconds; with ``only`` in this spelling."""

    def __call__(
        self, seat: Seat, message: dict[str, Any], *, limit_s: float, only: Proposal | None = None
    ) -> Awaitable[Heard]: ...


class Tell(Protocol):
    """Send a message to a seat whose answer does not matter, at most ``limit_s`` seconds."""

    def __call__(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> Awaitable[Heard]: ...


def of_failure(error: CallFailed | None, driver: Driver[Reply, CallFailed]) -> Heard:
    """What is heard of a player when no reply came to the last request; None: there was no time for one."""
    return Heard(
        error_code=error.error_code if error else "E001",
        problem=error.problem if error else note(Code.NOT_IN_TIME),
        elapsed_s=driver.elapsed_s,
        connected=error.connected if error else True,
        notes=driver.hunt.notes,
        cause=error.cause if error else Cause.DEADLINE,
        detail=error.detail if error and error.cause is not Cause.DEADLINE else "",
        cut_off=error.cut_off if error else False,
        wire=tuple(driver.wire),
    )


def of_reply(step: Replied[Reply], driver: Driver[Reply, CallFailed]) -> Heard:
    """What is heard of a player by a reply, whether it was understood or not."""
    proposal, reply, answer = step.proposal, step.reply, step.answer
    notes = [*driver.hunt.notes, *reply.notes, *answer.notes]
    code: str | None = None
    cause: Cause | None = None
    problem: Note | str = ""
    detail: Note | str = ""
    if step.understanding is Understanding.NOT_UNDERSTOOD:
        cause = of_answer(status=reply.status, readable=not reply.problem)
        detail = _in_place_of_an_answer(cause, reply, answer)
        code = "E009" if reply.status >= 500 else "E002"
        problem = f"HTTP status {reply.status}" if reply.status >= 500 else note(Code.ANSWERED_ERROR)
        if reply.problem and reply.status < 500:
            problem = f"HTTP {reply.status}: {reply.problem}"
    elif proposal.shape != CANONICAL:
        notes.append(_asked_as(proposal))
    if proposal.url != driver.hunt.url:
        notes.append(note(Code.FOUND_AT, path=urlsplit(proposal.url).path or "/"))
    return Heard(
        message={} if code else answer.message,
        error_code=code,
        problem=problem,
        elapsed_s=driver.elapsed_s,
        http_status=reply.status,
        notes=tuple(notes),
        body=reply.body,
        cause=cause,
        detail=detail,
        limited=proposal if driver.has_overasked else None,
        wait_s=rates.wait_s(reply.body, reply.headers) if driver.has_overasked else None,
        wire=tuple(driver.wire),
    )


def _in_place_of_an_answer(cause: Cause, reply: Reply, answer: Answer) -> Note | str:
    """What came instead of an answer, for the player's student."""
    if cause is Cause.HTTP_STATUS:
        return f"HTTP {reply.status}"
    if cause is Cause.NOT_JSON:
        return reply.problem.rstrip(".")
    error = answer.refused
    said = error.get("message") if isinstance(error, Mapping) else error
    return note(Code.ERROR_IN_REPLY, **({"said": repr(redact(str(said))[:100])} if said else {}))


def _asked_as(proposal: Proposal) -> Note:
    """In which words the player was asked; the name of a tool is its own."""
    if proposal.shape in OF_TOOLS:
        return note(Code.ASKED_TOOL, shape=proposal.shape, tool=proposal.method)
    return note(Code.ASKED_AS, shape=proposal.shape, **({"method": proposal.method} if proposal.method else {}))
