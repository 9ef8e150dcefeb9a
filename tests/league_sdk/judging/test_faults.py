"""Every lost point has a cause and a sentence that says it all; what was the referee's own failure costs nobody one."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.judging.asking import Heard
from league_sdk.judging.fault import Unjudged
from league_sdk.judging.match import NO_WAY_OUT
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.schemas.judging import Fault as FaultModel
from league_sdk.rules.even_odd import EvenOdd
from tests.league_sdk.judging import scripted
from tests.league_sdk.judging.scripted import CUT_OFF, JOIN, OURS, REFUSED, RESET, SILENCE, A, B, Table, choice


def wrong(code: str, cause: Cause, detail: str) -> Heard:
    return Heard(error_code=code, problem="x", http_status=200, cause=cause, detail=detail)


ERROR_500 = wrong("E009", Cause.HTTP_STATUS, "HTTP 500")
HTML = wrong("E002", Cause.NOT_JSON, "The body is not JSON: unexpected character")
NO_NAME = Heard(
    error_code="E009",
    problem="x",
    connected=False,
    cause=Cause.NAME_LOOKUP,
    detail="the name of the address is not known",
)
HANDSHAKE = Heard(error_code="E001", problem="x", cause=Cause.CONNECT, detail="no connection within 30 s")


@pytest.mark.parametrize(
    ("moves", "cause", "detail", "sentence"),
    [
        ([SILENCE] * 4, "DEADLINE", "", "P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4)"),
        (
            [REFUSED] * 4,
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
            [Heard(message={"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choise": "even"}, http_status=200)],
            "WRONG_MESSAGE",
            "The answer has no parity_choice (it has message_type, parity_choise)",
            # What came is for its owner: both players, and everybody, are told without it.
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
async def test_every_fault_has_a_cause_and_says_who_what_how_long_and_how_often(
    moves: list[Heard], cause: str, detail: str, sentence: str
) -> None:
    table = Table(moves={B: moves})
    played = await table.play()
    (fault,) = played.faults
    assert fault.to_report() == {
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
    (fault,) = (await Table(moves={B: [SILENCE, ERROR_500, REFUSED, SILENCE]}).play()).faults
    assert (fault.cause, fault.tries) == (Cause.DEADLINE, 4)


async def test_what_a_player_said_is_not_told_to_the_other_and_to_its_owner_without_its_token() -> None:
    table = Table(moves={B: [choice(f"tok_{'a' * 32}")] * 4})
    played = await table.play()
    assert "seen" not in played.reason + str(table.to(A, "GAME_OVER"))
    assert [fault.detail.rpartition("(")[2] for fault in played.faults] == ['seen: "tok_…")']


# -- the referee's own side -------------------------------------------------------------------------------


@pytest.mark.parametrize("tries", [[OURS] * 4, [OURS, SILENCE, SILENCE, SILENCE], [SILENCE, SILENCE, SILENCE, OURS]])
@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_no_point_is_lost_when_a_try_failed_on_our_own_machine(kind: str, tries: list[Heard]) -> None:
    table = Table(**{kind: {B: tries}})
    with pytest.raises(Unjudged) as caught:
        await table.play()
    assert str(caught.value) == "this machine cannot call anyone: Too many open files"
    assert (table.types(A).count("GAME_OVER"), table.types(B).count("GAME_OVER")) == (0, 0)
    # It is not told of an error that is none of its own.
    assert len(table.to(B, "GAME_ERROR")) == sum(one is SILENCE for one in tries)


async def test_an_answer_after_our_own_failure_plays_on() -> None:
    played = await Table(joins={B: [OURS, JOIN]}, moves={A: [OURS, OURS, choice("even")]}).play()
    assert (played.status, played.faults) == ("WIN", ())


async def test_nobody_is_told_anything_more_when_the_match_is_void_for_the_other_player() -> None:
    """Both are asked at once: who is still being asked is left alone at once."""
    table = Table(joins={A: [SILENCE] * 4, B: [OURS] * 4})
    with pytest.raises(Unjudged):
        await table.play()
    told = len(table.sent)
    await table.clock.sleep(200)
    assert len(table.sent) == told


async def test_without_a_way_to_anyone_it_is_our_own_network() -> None:
    for kind in ("joins", "moves"):
        table = Table(**{kind: {A: [CUT_OFF] * 4, B: [CUT_OFF] * 4}})
        with pytest.raises(Unjudged) as caught:
            await table.play()
        assert str(caught.value) == NO_WAY_OUT
        assert [one.type for one in table.sent if one.type == "GAME_OVER"] == []


@pytest.mark.parametrize("other", [[JOIN], [REFUSED] * 4, [SILENCE] * 4])
async def test_without_a_way_to_one_of_them_it_is_the_players_address(other: list[Heard]) -> None:
    played = await Table(joins={A: other, B: [CUT_OFF] * 4}).play()
    found = {fault.player_id: (fault.cause, fault.detail) for fault in played.faults}
    assert found[B] == (Cause.CONNECT, "no connection: Network is unreachable")


async def test_when_one_is_asked_at_a_time_the_end_shows_whose_network_is_gone() -> None:
    table = Table(joins={B: [CUT_OFF] * 4}, ends={A: [CUT_OFF] * 2})
    with pytest.raises(Unjudged):
        await table.play()
    table = Table(joins={B: [CUT_OFF] * 4}, ends={A: [REFUSED] * 2})
    assert (await table.play()).winner == A


class Broken(EvenOdd):
    """A game with a mistake in its rules."""

    def apply(self, state: Any, player: str, move: str) -> Any:
        raise ZeroDivisionError("a mistake in the rules")


async def test_a_mistake_in_the_rules_is_no_fault_of_a_player(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "EvenOdd", Broken)
    table = Table(moves={A: [choice("even")], B: [choice("odd", 20)]})
    with pytest.raises(ZeroDivisionError):
        await table.play()
    told = len(table.sent)
    await table.clock.sleep(200)
    assert ("GAME_OVER" in table.types(A), len(table.sent)) == (False, told)
