"""What a referee's messages of one match say: judged clause by clause (004 4.4 to 4.6, 8.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.conformance.cast import CHOICES, A, B, Cast, Heard
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.protocol import schemas
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import MessageType
from league_sdk.rules.even_odd import determine_winner, parity


def shown(heard: Heard) -> Exchange:
    """A message of the referee as evidence: it came, and nothing was sent before it."""
    return Exchange(None, came=heard.body, readable=True)


def judge_schema(verdicts: Verdicts, name: str, kind: MessageType, heard: list[Heard]) -> None:
    """Decide whether messages are as the documents show them; nothing when there was none."""
    if not heard:
        return
    for one in heard:
        wrong = schemas.problems(kind, one.message)
        if wrong:
            seen = "missing" if wrong[0].seen == "nothing" else wrong[0].seen
            why = f"{wrong[0].field} was {seen}, expected {wrong[0].expected} ({wrong[0].clause})."
            verdicts.tolerated(name, why, shown(one))
            return
    verdicts.conforms(name, "It is.", shown(heard[0]))


def judge_asking(verdicts: Verdicts, cast: Cast, match_id: str) -> None:
    """Invitations and requests for a choice."""
    invitations = cast.of(match_id, MessageType.GAME_INVITATION)
    roles = {one.to: one.message.get("role_in_match") for one in invitations}
    if set(roles) != {A, B}:
        verdicts.fails("invite.both", f"Invited: {', '.join(sorted(roles)) or 'nobody'}.")
    elif roles != {A: "PLAYER_A", B: "PLAYER_B"}:
        verdicts.tolerated("invite.both", f"role_in_match was {seen_text(roles)}.", shown(invitations[0]))
    else:
        verdicts.conforms("invite.both", "Both, with their roles.", shown(invitations[0]))
    judge_schema(verdicts, "invite.message", MessageType.GAME_INVITATION, invitations)
    calls = cast.of(match_id, MessageType.CHOOSE_PARITY_CALL)
    asked = {one.to for one in calls}
    if asked != {A, B}:
        verdicts.fails("choose.both", f"Asked: {', '.join(sorted(asked)) or 'nobody'}.")
        return
    if len(roles) == len({A, B}) and min(one.at for one in calls) > max(one.at for one in invitations[:2]):
        verdicts.conforms("choose.both", "Both, after both were invited.", shown(calls[0]))
    else:
        verdicts.tolerated("choose.both", "One was asked before the other was invited.", shown(calls[0]))
    judge_schema(verdicts, "choose.message", MessageType.CHOOSE_PARITY_CALL, calls)
    if match_id in cast.asked_in_parallel:
        verdicts.conforms("choose.parallel", "It did.")
    else:
        verdicts.tolerated(
            "choose.parallel", "PLAYER_B was asked only when PLAYER_A had answered: rounds take twice as long."
        )
    told = [one for one in invitations + calls if any(_holds_choice(one.message, CHOICES[name]) for name in (A, B))]
    if told:
        verdicts.fails("choose.hidden", "A choice stood in a message before GAME_OVER.", shown(told[0]))
    else:
        verdicts.conforms("choose.hidden", "It did not.")


def _holds_choice(message: Any, choice: str) -> bool:
    """Whether a choice is told: beside what may be chosen, which is told as a list."""
    if isinstance(message, Mapping):
        return any(value == choice or _holds_choice(value, choice) for value in message.values())
    return False


def judge_over(verdicts: Verdicts, cast: Cast, match_id: str) -> None:
    """GAME_OVER of a match between even and odd."""
    found = cast.of(match_id, MessageType.GAME_OVER)
    told = {one.to for one in found}
    if told != {A, B}:
        verdicts.fails("over.both", f"Told: {', '.join(sorted(told)) or 'nobody'}.")
    else:
        verdicts.conforms("over.both", "Both.", shown(found[0]))
    if not found:
        return
    judge_schema(verdicts, "over.message", MessageType.GAME_OVER, found)
    for one in found:
        wrong = wrong_result(one.message.get("game_result"))
        if wrong:
            verdicts.fails("over.right", wrong, shown(one))
            return
    verdicts.conforms("over.right", f"{winner_of(found[0])} won.", shown(found[0]))


def wrong_result(result: Any) -> str:
    """Why a ``game_result`` of even against odd is not right; empty when it is."""
    if not isinstance(result, Mapping):
        return "There is no game_result."
    number = result.get("drawn_number")
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 10:
        return f"drawn_number was {seen_text(number)}, expected 1 to 10."
    expected = {
        "status": "WIN",
        "winner_player_id": determine_winner(CHOICES, number),
        "number_parity": parity(number),
        "choices": CHOICES,
    }
    for name, value in expected.items():
        if result.get(name) != value:
            return f"{name} was {seen_text(result.get(name))}, expected {seen_text(value)}: the number was {number}."
    return ""


def winner_of(heard: Heard) -> Any:
    """Who has won according to a GAME_OVER."""
    result = heard.message.get("game_result")
    return result.get("winner_player_id") if isinstance(result, Mapping) else None


def judge_report(verdicts: Verdicts, cast: Cast, match_id: str, report: Heard) -> None:
    """MATCH_RESULT_REPORT against GAME_OVER."""
    judge_schema(verdicts, "report.message", MessageType.MATCH_RESULT_REPORT, [report])
    over = cast.of(match_id, MessageType.GAME_OVER)
    result = report.message.get("result")
    result = result if isinstance(result, Mapping) else {}
    winner = winner_of(over[0]) if over else None
    score = {name: 3 if name == winner else 0 for name in (A, B)}
    if result.get("winner") != winner or result.get("score") != score:
        seen = f"winner {seen_text(result.get('winner'))}, score {seen_text(result.get('score'))}"
        verdicts.fails("report.right", f"It said {seen}; GAME_OVER had {seen_text(winner)}.", shown(report))
    else:
        verdicts.conforms("report.right", f"{winner}, 3 to 0.", shown(report))
    token = report.message.get("auth_token")
    if not cast.registered.is_set():
        verdicts.skipped("report.token", "It was not registered here.")
    elif token == cast.tokens["auth"]:
        verdicts.conforms("report.token", "It does.")
    else:
        verdicts.fails(
            "report.token", "It was missing or another's: the league takes no result without it.", shown(report)
        )
