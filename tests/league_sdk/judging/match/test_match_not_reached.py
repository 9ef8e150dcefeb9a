"""A player that is not reached from here is handed on to a referee in another place (ruling, section 12)."""

from dataclasses import replace

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.judging.match.broken_off import PlayerNotReached
from league_sdk.protocol.faults import Cause
from tests.league_sdk.judging.scripted import JOIN, NOT_LISTENING, RESET, SILENCE, A, B, ScriptedMatch, brief, choice

LOST_PACKETS = replace(NOT_LISTENING, error_code="E001", elapsed_s=5.0)
NO_NAME = replace(NOT_LISTENING, cause=Cause.NAME_LOOKUP)
OPEN_CIRCUIT = replace(NOT_LISTENING, cause=Cause.DEADLINE)


def match(*tries: CallResult, second_look: bool = True, **seat: object) -> ScriptedMatch:
    """A match whose second player answers its invitation so."""
    return ScriptedMatch(joins={B: list(tries)}, brief=replace(brief(b=seat), second_look=second_look))


@pytest.mark.parametrize(
    ("tries", "made"),
    [((LOST_PACKETS,), 1), ((NOT_LISTENING, NOT_LISTENING), 2), ((SILENCE, NO_NAME), 2), ((NOT_LISTENING, NO_NAME), 2)],
    ids=["packets-lost", "refused-twice", "silent-then-gone", "gone-then-no-name"],
)
async def test_it_is_handed_on_and_nobody_is_told_an_end(tries: tuple[CallResult, ...], made: int) -> None:
    scripted = match(*tries)
    with pytest.raises(PlayerNotReached, match="P02 could not be reached") as raised:
        await scripted.play()
    assert raised.value.player_id == B
    assert scripted.types(B).count("GAME_INVITATION") == made
    assert not scripted.to(A, "GAME_OVER")


async def test_a_suspended_player_is_handed_on_after_its_only_try() -> None:
    scripted = match(NOT_LISTENING, suspended=True)
    with pytest.raises(PlayerNotReached):
        await scripted.play()


async def test_a_player_that_starts_again_within_the_pause_stays() -> None:
    scripted = match(NOT_LISTENING, JOIN)
    assert (await scripted.play()).faults == ()


@pytest.mark.parametrize("failure", [SILENCE, RESET, OPEN_CIRCUIT], ids=["silent", "broken-off", "open-circuit"])
async def test_who_took_the_call_loses_here(failure: CallResult) -> None:
    played = await match(failure, failure, failure, failure).play()
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", A)


@pytest.mark.parametrize(
    ("second_look", "endpoint"),
    [(False, "http://localhost:8102/mcp"), (True, "inbox://7")],
    ids=["second-attempt", "inbox-only"],
)
async def test_without_another_place_to_look_from_it_loses(second_look: bool, endpoint: str) -> None:
    tries = (NOT_LISTENING,) * 4
    played = await match(*tries, second_look=second_look, endpoint=endpoint).play()
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", A)


async def test_a_choice_that_cannot_be_asked_for_is_handed_on_without_a_word_of_the_other() -> None:
    scripted = ScriptedMatch(moves={A: [choice("even")], B: [LOST_PACKETS]}, brief=replace(brief(), second_look=True))
    with pytest.raises(PlayerNotReached):
        await scripted.play()
    assert scripted.types(B) == ["GAME_INVITATION", "CHOOSE_PARITY_CALL"]
    assert "even" not in str([one["body"] for one in scripted.log.take(10**9)])
