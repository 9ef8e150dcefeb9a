"""The kinds of judgement: functions from an exchange to a verdict and its reason. The tables of clauses name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.report import Verdict
from league_sdk.dialects.answers import Understanding
from league_sdk.protocol import schemas
from league_sdk.protocol.inbox import Way
from league_sdk.protocol.sentences import Sentence, _, expectation, say

Judged = tuple[Verdict, Sentence]
Judgement = Callable[[Exchange], Judged]
METHOD_NOT_FOUND, PARSE_ERROR = -32601, -32700
TOLERATED, CONFORMS, FAILS, SKIPPED = Verdict.TOLERATED, Verdict.CONFORMS, Verdict.FAILS, Verdict.SKIPPED


def reached(exchange: Exchange) -> Judged:
    """For a request that shows whether the agent can be reached: any answer conforms, no answer fails."""
    if exchange.status is None:
        fetches = _("{failure}. Is the agent running, and does it fetch its messages with its newest auth_token?")
        listens = _("{failure}. Is the agent running, on this address and port?")
        return FAILS, say(fetches if exchange.way else listens, failure=exchange.failure)
    if exchange.way == Way.INBOX:
        return CONFORMS, say(_("Answered over its own line in {ms} ms."), ms=exchange.elapsed_ms)
    return CONFORMS, say(_("HTTP {status} in {ms} ms."), status=exchange.status, ms=exchange.elapsed_ms)


_ANSWERED_ERROR = _(
    "It answered: {said}. That costs no point, but an agent that does not read this message misses what it says."
)
_EARLIER_ANSWERED_ERROR = _("It said: {said}. The league does not mind; an agent that ignores it misses something.")
"""In reports of earlier versions, which stay translated."""


def takes(exchange: Exchange) -> Judged:
    """For a message that asks for nothing: an answer without error conforms, another is tolerated, no answer fails."""
    if exchange.answered:
        return CONFORMS, say(_("Answered in {ms} ms."), ms=exchange.elapsed_ms)
    if exchange.status is not None or exchange.understanding is Understanding.NOT_UNDERSTOOD:
        return TOLERATED, say(_ANSWERED_ERROR, said=exchange.in_words())
    return FAILS, say(_("{failure}. Answer anything, at once."), failure=exchange.failure)


def refusal(hint: str, code: int | None = None) -> Judgement:
    """For an unusable request: the expected error conforms, any other answer is tolerated, no answer fails.

    Args:
        hint: why a student should care.
        code: the JSON-RPC error that is expected. None for any, or an error of a tool of MCP; a tool that answers as
            usual is not judged then, because its arguments were filled to fit its schema.
    """

    def judge(exchange: Exchange) -> Judged:
        seen_code = exchange.error.get("code")
        if exchange.status is None:
            text = _("{failure}. An agent has to answer, with an error if need be.")
            return FAILS, say(text, failure=exchange.failure)
        if isinstance(seen_code, int) and not isinstance(seen_code, bool) and code in (None, seen_code):
            return CONFORMS, say(_("Error {code}."), code=seen_code)
        if code is None and exchange.tool_failed:
            return CONFORMS, say(_("It said so in the result of the tool."))
        if code is None and exchange.tool_result is not None and exchange.answered:
            return SKIPPED, say(_("Not judged: the arguments of a tool are filled as its schema wants them."))
        said = say(_("it was accepted")) if exchange.answered else exchange.in_words()
        if code is None:
            return TOLERATED, say(_("Expected a JSON-RPC error, but: {said}. {hint}"), said=said, hint=say(hint))
        text = _("Expected error {code}, but: {said}. {hint}")
        return TOLERATED, say(text, code=code, said=said, hint=say(hint))

    return judge


def quiet(hint: str = "") -> Judgement:
    """For a notification: an empty HTTP answer conforms, another is tolerated, no answer at all fails."""

    def judge(exchange: Exchange) -> Judged:
        if exchange.status is None:
            return FAILS, say(_("{failure}. HTTP wants an answer, if an empty one."), failure=exchange.failure)
        if exchange.status < 300 and not (exchange.readable and exchange.response_body):
            return CONFORMS, say(_("HTTP {status}, empty."), status=exchange.status)
        if exchange.readable and exchange.response_body:
            why = say(_("It answered with a body; JSON-RPC has none for a request without id."))
        else:
            why = say("HTTP {status}.", status=exchange.status)
        return TOLERATED, say("{why} {hint}", why=why, hint=say(hint)) if hint else why

    return judge


def error_code(*codes: str) -> Judgement:
    """For a message that breaks a rule: one of these E-codes conforms, another refusal is tolerated, success or no
    answer fails.
    """
    expected = say(_("{first} or {second}"), first=codes[0], second=codes[1]) if len(codes) > 1 else codes[0]

    def judge(exchange: Exchange) -> Judged:
        seen_code = league_code(exchange)
        if seen_code in codes:
            return CONFORMS, say("{given}.", given=seen_code)
        if seen_code or is_refused(exchange) or (exchange.status or 0) >= 400:
            text = _("It was refused, but not with {wanted}: {said}.")
            return TOLERATED, say(text, wanted=expected, said=seen_code or exchange.in_words())
        came = exchange.failure or say(_("it was taken as if it were right"))
        return FAILS, say(_("Expected {wanted}, but {came}."), wanted=expected, came=came)

    return judge


def too_large(exchange: Exchange) -> Judged:
    """For a body that is too large: a refusal or a closed connection conforms, success is tolerated, silence fails."""
    if exchange.timed_out:
        return FAILS, say("{failure}.", failure=exchange.failure)
    if exchange.status is None or exchange.status >= 400 or exchange.answer.refused is not None:
        return CONFORMS, say(_("Refused: {said}."), said=exchange.in_words())
    return TOLERATED, say(_("It took it. One agent must not fill the memory of all."))


def league_code(exchange: Exchange) -> str:
    """The E-code in an answer: in ``error.data``, or in a LEAGUE_ERROR as ``result`` (004 8.10.1); empty when none."""
    code = exchange.error_data.get("error_code") or exchange.message.get("error_code")
    return code if isinstance(code, str) else ""


def is_refused(exchange: Exchange) -> bool:
    """Whether an answer is an error, or a message with ``REJECTED`` or ``success: false``."""
    message = exchange.message
    return exchange.answer.refused is not None or message.get("status") == "REJECTED" or message.get("success") is False


def misfit(kind: str, message: Any) -> Sentence | None:
    """The first difference between a message and the documents, with its source; None when there is none."""
    problems = schemas.problems(kind, message)
    if not problems:
        return None
    return say("{difference} ({source}).", difference=difference(kind, problems[0]), source=problems[0].clause)


def difference(kind: str, problem: schemas.Problem) -> Sentence:
    """One difference between a message and the documents, as a sentence without its full stop."""
    missing = _("{field} in {kind} was missing, expected {expected}")
    wrong = _("{field} in {kind} was {seen}, expected {expected}")
    return say(
        missing if problem.seen == schemas.NOTHING else wrong,
        field=problem.field,
        kind=kind,
        seen=problem.seen,
        expected=expectation(problem.expected),
    )
