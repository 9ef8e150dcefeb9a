"""One exchange with the agent under check: what was sent, and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.dialects.answers import Answer, Understanding, accepted
from league_sdk.dialects.driver import Failed, Replied
from league_sdk.protocol.calls import CallFailed, Reply, TimedOut
from league_sdk.protocol.notes import Note
from league_sdk.protocol.sentences import Sentence, _, ours, say

CALL_TOOL = "tools/call"
_NO_CONNECTION = _("no connection")
_REFUSALS = (_("Connection refused"), _("No route to host"), _("Network is unreachable"), _("Connection reset by peer"))
"""The reasons of the operating system that are translated."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was sent, and what the agent answered.

    Attributes:
        sent: the body of the request; None when nothing was sent, as for what the agent sent unasked.
        status: the HTTP status; None when there was no answer.
        response_body: the decoded body of the answer, or why it could not be decoded.
        answer: the message that was found in it.
        understanding: whether the answer is what was asked for; None when there was none, or when a body was sent as it
            is and not as a message.
        failure: why there was no answer; empty if there was one.
        timed_out: whether the agent did not answer in time.
        elapsed_ms: milliseconds from sending to the answer or the failure.
        readable: whether the body of the answer was JSON.
        by_callback: whether the answer came as a POST of the agent's own.
        content_type: the Content-Type of the HTTP answer.
        way: the :class:`league_sdk.protocol.inbox.Way` of the message, if it did not go to the agent's address.
        result: what a referee makes of it.
        said_ready: the agent counts as joined without a yes, because it has said that it is ready for its games.
    """

    sent: Any
    status: int | None = None
    response_body: Any = None
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
    def is_untyped(self) -> bool:
        """Whether the answer has no ``message_type``: a status such as RECEIVED, or fields such as ``accept`` alone."""
        return self.answered and "message_type" not in self.message

    @property
    def calls_tool(self) -> bool:
        """Whether what was sent calls a tool of MCP."""
        return isinstance(self.sent, Mapping) and self.sent.get("method") == CALL_TOOL

    @property
    def tool_result(self) -> Mapping[str, Any] | None:
        """The result of a tool of MCP, as MCP has it; None if no tool was called, or it was answered otherwise."""
        if not self.calls_tool:
            return None
        result = self.response_body.get("result") if isinstance(self.response_body, Mapping) else None
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


def unanswered(sent: Exchange, error: CallFailed, limit_s: float) -> Exchange:
    """The exchange with why no answer came within ``limit_s`` seconds."""
    timed_out = isinstance(error, TimedOut)
    # Name the limit of the whole exchange, which all dialects share.
    no_answer, no_sign = _("it took the message and did not answer within {limit} s"), _("no answer within {limit} s")
    limit = f"{limit_s:g}"
    failure = say(no_answer if error.way else no_sign, limit=limit) if timed_out else _in_words(error.problem)
    return replace(sent, failure=failure, timed_out=timed_out, way=error.way)


def _in_words(problem: Note | str) -> Sentence | Note | str:
    """A problem of the transport, to be put into a sentence; only texts about connections can be translated."""
    if problem == _NO_CONNECTION:
        return say(_NO_CONNECTION)
    head, _colon, reason = str(problem).partition(": ")
    if head == _NO_CONNECTION:
        return say(_("no connection: {reason}"), reason=ours(reason, _REFUSALS))
    return problem


def answered_by_post(sent: Exchange, message: Mapping[str, Any]) -> Exchange:
    """The exchange with what the agent sent by a POST of its own for an answer."""
    answered = Understanding.ANSWERED
    sent = replace(sent, response_body=message, answer=Answer(dict(message), None, ()), understanding=answered)
    return replace(sent, failure="", timed_out=False, readable=True, by_callback=True)


def exchange_of(result: CallResult, step: Replied | Failed | None, limit_s: float) -> Exchange:
    """The exchange that a hunt of at most ``limit_s`` seconds ended with: the answer, or what a referee decides by."""
    elapsed_ms = milliseconds(result.elapsed_s)
    if isinstance(step, Replied):
        sent = Exchange(step.proposal.body, elapsed_ms=elapsed_ms, result=result)
        exchange = replied(sent, step.reply, step.answer, step.understanding)
        if not exchange.answered and accepted(result.message) is True:
            answer = Answer(dict(result.message), None, ())
            exchange = replace(exchange, answer=answer, understanding=Understanding.ANSWERED, said_ready=True)
        return exchange
    if isinstance(step, Failed):
        sent = Exchange(step.proposal.body, elapsed_ms=elapsed_ms, result=result)
        return unanswered(sent, step.error, limit_s)
    no_tool, unknown = say(_("it has no tool for this")), Understanding.NOT_UNDERSTOOD
    return Exchange(None, failure=no_tool, understanding=unknown, result=result)


def replied(sent: Exchange, reply: Reply, answer: Answer, understanding: Understanding | None = None) -> Exchange:
    """The exchange with a reply, and the answer that was found in it."""
    return replace(
        sent,
        status=reply.status,
        response_body=f"(no JSON) {reply.problem}" if reply.problem else reply.body,
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


def milliseconds(seconds: float) -> int:
    """Seconds as whole milliseconds."""
    return round(seconds * 1000)
