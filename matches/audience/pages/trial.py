"""A request that was sent again, with its answer and what a referee would have made of it."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from league_sdk.dialects.answers import Understanding, accepted, choice
from league_sdk.protocol import rpc
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.tokens import redact
from matches.audience.pages.exchanges import comparison, expected_answer, is_legal, pretty
from matches.conducting.trials import State, Trial
from matches.words import match

MOVES = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)


def trial_dict(trial: Trial) -> dict[str, Any]:
    """A trial as the page shows it."""
    word, sentence = _verdict(trial)
    expected = expected_answer(trial.message, str(trial.message.get("player_id", "")))
    last = trial.wire[trial.shown] if trial.wire else None
    return {
        "exchange": trial.exchange,
        "message_type": str(trial.message.get("message_type", "")),
        "open": trial.open,
        "word": word,
        "sentence": sentence,
        "took": match.took(trial.elapsed_ms, round(trial.limit_s * 1000)) if trial.state == State.DONE else "",
        "status": last["status"] if last else None,
        "shape": last["shape"] if last else "",
        "method": last["method"] if last else "",
        "path": last["path"] if last else "",
        "text": redact(last.get("text", "")) if last else "",
        "sent": pretty(_sent(trial)),
        "body": pretty(trial.body) if trial.body is not None else "",
        "rows": comparison(expected, trial.answer, usable=word == "good") if expected and trial.answer else [],
    }


def _sent(trial: Trial) -> Any:
    """The body that went out last."""
    if not trial.wire:
        return dict(trial.message)
    last = trial.wire[trial.shown]
    return last["request"] if "request" in last else {**rpc.call(last["method"], trial.message, 0), "id": last["id"]}


def _verdict(trial: Trial) -> tuple[str, str]:
    """``good``, ``bad``, ``vague`` or ``wait``, and a sentence."""
    if trial.state != State.DONE:
        if trial.open:
            return "wait", _("On its way.")
        return "bad", _("Nothing came of it: the site was busy or has stopped. Send it again.")
    if trial.understanding is None:
        return "bad", _("No answer: %(problem)s.") % {"problem": trial.problem}
    if trial.understanding is Understanding.NOT_UNDERSTOOD:
        if trial.problem:
            return "bad", _("What came cannot be read: %(problem)s") % {"problem": trial.problem}
        return "bad", _("Your agent says that it does not know this request, in every way of putting it.")
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
