"""A trial: a request that was sent to an agent again, with the answer and how a referee would judge it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from league_sdk.dialects.answers import Understanding, accepted, choice
from league_sdk.protocol import rpc
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import Wire
from matches.audience.pages.exchanges import FieldRow, comparison, expected_answer, is_legal, pretty, way_of
from matches.conducting.trial_copies import State, Trial
from matches.words import match
from matches.words.notes import sentence_of

MOVES = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)


@dataclass(frozen=True, slots=True)
class TrialShown:
    """A trial as the page shows it.

    Attributes:
        word: ``good``, ``bad``, ``vague`` or ``wait``; ``sentence`` explains it.
        last: the HTTP request whose answer is shown; None while there is none.
        way: by which way it went; empty for the agent's address.
        text: the beginning of the response, if it was not JSON.
        sent: the body of that HTTP request; empty while there is none.
        rows: the answer compared with the expected one.
    """

    message_type: str
    open: bool
    word: str
    sentence: str
    took: str
    last: Wire | None
    way: str
    text: str
    sent: str
    body: str
    rows: list[FieldRow]


def shown(trial: Trial) -> TrialShown:
    """A trial as the page shows it."""
    word, sentence = _verdict(trial)
    expected = expected_answer(trial.message, str(trial.message.get("player_id", "")))
    last = trial.wire[trial.shown] if trial.wire else None
    return TrialShown(
        str(trial.message.get("message_type", "")),
        trial.open,
        word,
        sentence,
        match.took(trial.elapsed_ms, round(trial.limit_s * 1000)) if trial.state == State.DONE else "",
        last,
        way_of(last),
        redact(last.get("text", "")) if last else "",
        pretty(_sent(trial, last)) if last else "",
        pretty(trial.body) if trial.body is not None else "",
        comparison(expected, trial.answer, usable=word == "good") if expected and trial.answer else [],
    )


def _sent(trial: Trial, last: Wire) -> Any:
    """The body of an HTTP request of the trial."""
    return last["request"] if "request" in last else {**rpc.call(last["method"], trial.message, 0), "id": last["id"]}


def _verdict(trial: Trial) -> tuple[str, str]:
    if trial.state != State.DONE:
        if trial.open:
            return "wait", _("On its way.")
        return "bad", _("There is no result: the site was busy or has stopped. Send it again.")
    if trial.understanding is None:
        return "bad", _("No answer: %(problem)s.") % {"problem": sentence_of(trial.problem)}
    if trial.understanding is Understanding.NOT_UNDERSTOOD:
        if trial.problem:
            return "bad", _("What came cannot be read: %(problem)s") % {"problem": sentence_of(trial.problem)}
        return "bad", _("Your agent says that it does not know this request, in every dialect that was tried.")
    if trial.understanding is not Understanding.ANSWERED:
        return "vague", _("A receipt without an answer. In a match the referee would wait for a POST of its own.")
    return _answered(trial)


def _answered(trial: Trial) -> tuple[str, str]:
    kind = trial.message.get("message_type")
    if kind == MessageType.GAME_INVITATION:
        if accepted(trial.answer):
            return "good", _("It accepts: the referee would count it as joined.")
        return "bad", _("It refuses the match: the referee would count a technical loss.")
    if kind in MOVES:
        move = choice(trial.answer, trial.choice_field)
        if is_legal(move, trial.message):
            return "good", _("A legal move: the referee would take it.")
        return "bad", _("Not a legal move: the referee would refuse it.")
    return "good", _("It answered. The content of this answer does not matter.")
