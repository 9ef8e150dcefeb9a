"""Judges the messages that a referee sent in one match (004 4.4 to 4.6, 8.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from league_sdk.conformance.cast import CHOICES, A, B, Cast, Heard
from league_sdk.conformance.report import Verdict
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.sentences import Sentence, _, say
from league_sdk.rules.even_odd import determine_winner, parity

_BOTH = {A, B}


def judge_as_documented(verdicts: Verdicts, name: str, messages: Iterable[Heard]) -> None:
    """Decide whether messages are as the documents show them; without any, do nothing."""
    verdicts.as_shown(name, [(heard.message, heard.evidence) for heard in messages])


def judge_asking(verdicts: Verdicts, cast: Cast, match_id: str) -> None:
    """Judge the invitations and the requests for a choice."""
    invitations = cast.of(match_id, MessageType.GAME_INVITATION)
    roles = {heard.to: heard.message.get("role_in_match") for heard in invitations}
    if set(roles) == _BOTH and roles != {A: "PLAYER_A", B: "PLAYER_B"}:
        why = say(_("role_in_match was {seen}."), seen=seen_text(roles))
        verdicts.record("invite.both", Verdict.TOLERATED, why, invitations[0].evidence)
    else:
        _decide_both(verdicts, "invite.both", invitations)
    judge_as_documented(verdicts, "invite.message", invitations)
    calls = cast.of(match_id, MessageType.CHOOSE_PARITY_CALL)
    if {heard.to for heard in calls} != _BOTH:
        _decide_both(verdicts, "choose.both", calls)
        return
    if set(roles) == _BOTH and min(heard.at for heard in calls) > max(heard.at for heard in invitations[:2]):
        _decide_both(verdicts, "choose.both", calls)
    else:
        why = say(_("One was asked before the other was invited."))
        verdicts.record("choose.both", Verdict.TOLERATED, why, calls[0].evidence)
    judge_as_documented(verdicts, "choose.message", calls)
    verdicts.decide("choose.parallel", match_id in cast.asked_in_parallel)
    revealing = [
        heard for heard in invitations + calls if any(_holds(heard.message, choice) for choice in CHOICES.values())
    ]
    verdicts.decide("choose.hidden", not revealing, revealing[0].evidence if revealing else None)


def _decide_both(verdicts: Verdicts, name: str, messages: list[Heard]) -> None:
    """Decide whether both players received a message."""
    receivers = {heard.to for heard in messages}
    evidence = messages[0].evidence if receivers == _BOTH else None
    verdicts.decide(name, receivers == _BOTH, evidence, names=", ".join(sorted(receivers)) or say(_("nobody")))


def _holds(message: Any, choice: str) -> bool:
    """Whether a message gives a choice away; the list of allowed choices does not."""
    if isinstance(message, Mapping):
        return any(value == choice or _holds(value, choice) for value in message.values())
    return False


def judge_over(verdicts: Verdicts, cast: Cast, match_id: str) -> None:
    """Judge GAME_OVER of a match in which one player chose even and one odd."""
    messages = cast.of(match_id, MessageType.GAME_OVER)
    _decide_both(verdicts, "over.both", messages)
    judge_as_documented(verdicts, "over.message", messages)
    if messages:
        wrong = next((heard for heard in messages if wrong_result(heard)), messages[0])
        judge_result(verdicts, "over.right", wrong)


def judge_result(verdicts: Verdicts, name: str, over: Heard) -> None:
    """Decide whether a GAME_OVER has the result that follows from the rules."""
    wrong = wrong_result(over)
    verdicts.decide(name, not wrong, over.evidence, winner=winner_of(over), wrong=wrong)


def result_of(over: Heard) -> Mapping[str, Any]:
    """The ``game_result`` of a GAME_OVER; empty when there is none."""
    result = over.message.get("game_result")
    return result if isinstance(result, Mapping) else {}


def winner_of(over: Heard) -> Any:
    """The winner according to a GAME_OVER."""
    return result_of(over).get("winner_player_id")


def wrong_result(over: Heard) -> Sentence | None:
    """Why the result of a GAME_OVER is wrong; None when it is right."""
    result = result_of(over)
    if not result:
        return say(_("There is no game_result."))
    number = result.get("drawn_number")
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 10:
        return say(_("drawn_number was {seen}, expected 1 to 10."), seen=seen_text(number))
    expected = {
        "status": "WIN",
        "winner_player_id": determine_winner(CHOICES, number),
        "number_parity": parity(number),
        "choices": CHOICES,
    }
    for name, value in expected.items():
        if result.get(name) != value:
            text = _("{name} was {seen}, expected {right}: the number was {number}.")
            return say(text, name=name, seen=seen_text(result.get(name)), right=seen_text(value), number=number)
    return None


def judge_report(verdicts: Verdicts, cast: Cast, match_id: str, report: Heard) -> None:
    """Judge MATCH_RESULT_REPORT, and compare it with GAME_OVER."""
    judge_as_documented(verdicts, "report.message", [report])
    over = cast.of(match_id, MessageType.GAME_OVER)
    result = report.message.get("result")
    result = result if isinstance(result, Mapping) else {}
    winner, seen, score = winner_of(over[0]) if over else None, result.get("winner"), result.get("score")
    right = seen == winner and score == {name: 3 if name == winner else 0 for name in (A, B)}
    words = {"winner": winner, "seen": seen_text(seen), "score": seen_text(score), "right": seen_text(winner)}
    verdicts.decide("report.right", right, report.evidence, **words)
    if cast.registration is not None:
        right = report.message.get("auth_token") == cast.tokens["auth"]
        verdicts.decide("report.token", right, None if right else report.evidence)
    else:
        verdicts.skip("report.token", say(_("It was not registered here.")))
