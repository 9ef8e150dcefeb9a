"""Every lost point has a cause and one complete sentence; failures of the referee's machine are excused a few times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.judging.match.broken_off import MachineFailed
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import in_words
from league_sdk.protocol.schemas.judging import Fault as FaultModel
from league_sdk.rules.even_odd import EvenOdd
from tests.league_sdk.judging.scripted import (
    JOIN,
    NOT_LISTENING,
    OUR_FAILURE,
    RESET,
    SILENCE,
    A,
    B,
    ScriptedMatch,
    brief,
    choice,
)


def wrong(code: str, cause: Cause, detail: str) -> CallResult:
    return CallResult(error_code=code, problem="x", http_status=200, cause=cause, detail=detail)


ERROR_500 = wrong("E009", Cause.HTTP_STATUS, "HTTP 500")
HTML = wrong("E002", Cause.NOT_JSON, "The body is not JSON: unexpected character")
NO_NAME = CallResult(
    error_code="E009",
    problem="x",
    connected=False,
    cause=Cause.NAME_LOOKUP,
    detail="the name of the address is not known",
)
HANDSHAKE = CallResult(error_code="E001", problem="x", cause=Cause.CONNECT, detail="no connection within 30 s")


@pytest.mark.parametrize(
    ("moves", "cause", "detail", "sentence"),
    [
        ([SILENCE] * 4, "DEADLINE", "", "P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4)"),
        (
            [NOT_LISTENING] * 4,
            "CONNECT",
            "nobody listens at its address",
            "P02 could not be reached for CHOOSE_PARITY_CALL (tries: 4): nobody listens at its address",
        ),
        (
            [RESET] * 4,
            "CONNECT",
            "the connection broke off",
            "P02 could not be reached for CHOOSE_PARITY_CALL (tries: 4): the connection broke off",
        ),
        (
            [HANDSHAKE] * 4,
            "CONNECT",
            "no connection within 30 s",
            "P02 could not be reached for CHOOSE_PARITY_CALL (tries: 4): no connection within 30 s",
        ),
        (
            [NO_NAME] * 4,
            "NAME_LOOKUP",
            "the name of the address is not known",
            "P02 could not be reached for CHOOSE_PARITY_CALL (tries: 4): the name of the address is not known",
        ),
        ([ERROR_500] * 4, "HTTP_STATUS", "HTTP 500", "P02 answered CHOOSE_PARITY_CALL with HTTP 500 (tries: 4)"),
        (
            [HTML],
            "NOT_JSON",
            "The body is not JSON: unexpected character",
            "P02 answered CHOOSE_PARITY_CALL with something that is not JSON (tries: 1): "
            "The body is not JSON: unexpected character",
        ),
        (
            [CallResult(message={"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choise": "eve"}, http_status=200)],
            "WRONG_MESSAGE",
            "The answer has no parity_choice (it has message_type, parity_choise)",
            # What the player answered is for its owner: both players and the public get the fault without it.
            "P02 gave no valid answer to CHOOSE_PARITY_CALL (tries: 1): The answer has no parity_choice",
        ),
        (
            [choice("heads")] * 4,
            "ILLEGAL_MOVE",
            'parity_choice must be exactly "even" or "odd" (seen: "heads")',
            "P02 answered CHOOSE_PARITY_CALL with no legal move (tries: 4): "
            'parity_choice must be exactly "even" or "odd"',
        ),
    ],
)
async def test_a_fault_has_a_cause_and_a_complete_sentence(
    moves: list[CallResult], cause: str, detail: str, sentence: str
) -> None:
    scripted = ScriptedMatch(moves={B: moves})
    played = await scripted.play()
    (fault,) = played.faults
    reported = fault.to_report()
    if "note" in reported:
        assert in_words(reported.pop("note")) == detail
    assert reported == {
        "player_id": B,
        "error_code": fault.error_code,
        "message_type": "CHOOSE_PARITY_CALL",
        "tries": len(moves),
        "cause": cause,
        "limit_s": 30,
        "detail": detail,
        "sentence": sentence,
    }
    FaultModel.model_validate(fault.to_report())
    assert (played.winner, played.reason) == (A, f"{sentence}. Technical loss")


async def test_the_cause_is_that_of_the_last_try() -> None:
    (fault,) = (await ScriptedMatch(moves={B: [SILENCE, ERROR_500, NOT_LISTENING, SILENCE]}).play()).faults
    assert (fault.cause, fault.tries) == (Cause.DEADLINE, 4)


async def test_a_fault_quotes_the_answer_to_its_owner_only_and_never_a_token() -> None:
    scripted = ScriptedMatch(moves={B: [choice(f"tok_{'a' * 32}")] * 4})
    played = await scripted.play()
    assert "seen" not in played.reason + str(scripted.to(A, "GAME_OVER"))
    assert [str(fault.detail).rpartition("(")[2] for fault in played.faults] == ['seen: "tok_…")']


# -- the referee's own side -------------------------------------------------------------------------------


EXCUSED = replace(OUR_FAILURE, connected=True, excuse="this machine has no network: Too many open files")


@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_three_tries_of_a_seat_are_excused_and_the_fourth_counts(kind: str) -> None:
    scripted = ScriptedMatch(**{kind: {B: [EXCUSED] * 7}})
    played = await scripted.play()
    (fault,) = played.faults
    assert (played.winner, fault.player_id, fault.tries) == (A, B, 4)
    assert [one["counted"] for one in scripted.log.excused] == ["no", "no", "no", "yes"]
    assert {one["evidence"] for one in scripted.log.excused} == {EXCUSED.excuse}


async def test_a_match_is_handed_back_for_a_missing_network_in_its_first_attempt_only() -> None:
    """A healthy referee may play it; in the second attempt the same failure counts."""
    no_network = replace(EXCUSED, connected=False)
    with pytest.raises(MachineFailed, match="Too many open files"):
        await ScriptedMatch(joins={B: [no_network] * 4}).play()
    again = brief(attempt=2, max_retries=0, b={"excused": 3})
    assert (await ScriptedMatch(joins={B: [no_network] * 4}, brief=again).play()).winner == A


async def test_a_sealed_match_is_handed_back_when_the_network_fails_at_game_over() -> None:
    no_network = replace(EXCUSED, connected=False)
    with pytest.raises(MachineFailed):
        await ScriptedMatch(ends={B: [no_network] * 2}, brief=replace(brief(), seals=True)).play()
    # Without a seal the match is not handed back: its report still makes the result count.
    assert (await ScriptedMatch(ends={B: [no_network] * 2}).play()).status == "WIN"


async def test_excuses_are_limited_per_seat_of_a_match_and_not_per_request() -> None:
    twice = [EXCUSED, EXCUSED]
    scripted = ScriptedMatch(joins={A: [*twice, JOIN], B: [*twice, JOIN]}, moves={B: [*twice, choice("odd")]})
    played = await scripted.play()
    counted = {
        player: [one["counted"] for one in scripted.log.excused if one["player_id"] == player] for player in (A, B)
    }
    assert (played.faults, counted) == ((), {A: ["no", "no"], B: ["no", "no", "no", "yes"]})


async def test_excuses_of_earlier_attempts_count() -> None:
    scripted = ScriptedMatch(joins={B: [EXCUSED] * 4}, brief=brief(max_retries=0, b={"excused": 3}))
    (fault,) = (await scripted.play()).faults
    assert (fault.player_id, fault.tries, [one["counted"] for one in scripted.log.excused]) == (B, 1, ["yes"])


async def test_an_answer_that_breaks_our_code_is_the_players_fault() -> None:
    """Otherwise a player with such an answer could have every match that it is losing played again."""

    class Odd(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:
            if name == "accept":
                raise RuntimeError
            return super().get(name, default)

    strange = CallResult(message=Odd(accept=True), body={}, http_status=200)
    played = await ScriptedMatch(joins={B: [strange] * 4}).play()
    (fault,) = played.faults
    assert (played.winner, fault.player_id, fault.cause) == (A, B, Cause.WRONG_MESSAGE)


class Broken(EvenOdd):
    """A game with a mistake in its rules."""

    def apply(self, state: Any, player: str, move: str) -> Any:
        raise ZeroDivisionError("a mistake in the rules")


async def test_an_exception_in_the_rules_of_a_game_counts_as_a_wrong_message_of_the_player() -> None:
    scripted = ScriptedMatch(moves={A: [choice("even")], B: [choice("odd", 20)]}, game=Broken())
    played = await scripted.play()
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", None)
    assert {fault.cause for fault in played.faults} == {Cause.WRONG_MESSAGE}
